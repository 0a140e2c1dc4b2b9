import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { LayoutDashboard } from "lucide-react";
import { type Answer, loadStored, type Question, storedQuery, useKind } from "@/insights";
import { dataOf, publicApi } from "@/lib/api";
import { ApiError } from "@/lib/errors";
import type { components } from "@/lib/schema";
import { Page } from "@/ui/Page";
import { Visible } from "@/ui/properties";
import { Empty, Failed, Loaded, Skeleton } from "@/ui/States";
import { Time, TimesIn } from "@/ui/Time";
import { words } from "@/words/dashboards";
import { Grid, type GridTile } from "./Grid";
import { storedBoxes } from "./layout";
import { Markdown, TextFrame } from "./TextFrame";
import { TileNotes, TileResult } from "./TileResult";
import { nameOfText } from "./tiles";

type Shared = components["schemas"]["SharedDashboardBody"];
type SharedTile = components["schemas"]["SharedTileBody"];

const route = getRouteApi("/shared/$token");
// Poll faster while results are being calculated than once all are there.
const SOON_MS = 3_000;
const LATER_MS = 60_000;

/** A shared dashboard: its tiles and nothing else. */
export default function SharedPage() {
  const { token } = route.useParams();
  const shared = useQuery({
    queryKey: ["shared", token],
    queryFn: async ({ client, signal }) => {
      const found = await dataOf(
        publicApi.GET("/api/shared_dashboards/{token}/", { params: { path: { token } }, signal }),
      );
      const insights = found.tiles.filter(({ text }) => text === null);
      await loadStored(client, insights);
      return found;
    },
    retry: false,
    refetchInterval: ({ state }) => {
      if (state.error !== null) return false;
      const isAwaited = state.data?.tiles.some(
        (tile) => tile.text === null && tile.last_refresh === null && !tile.is_refused,
      );
      return isAwaited ? SOON_MS : LATER_MS;
    },
  });
  const isGone = shared.error instanceof ApiError && shared.error.status === 404;
  return (
    <main className="min-h-dvh">
      {isGone ? (
        <Page title={words.sharedGone}>
          <Empty icon={LayoutDashboard} title={words.sharedGone}>
            <p>{words.sharedGoneHint}</p>
          </Empty>
        </Page>
      ) : (
        <Loaded query={shared} rows={8}>
          {(found) => <Tiles shared={found} />}
        </Loaded>
      )}
    </main>
  );
}

function Tiles({ shared }: { shared: Shared }) {
  const { name, description, timezone, tiles } = shared;
  const drawn = tiles.map(
    (tile): GridTile => ({
      id: tile.id,
      name: tile.text === null ? tile.name : nameOfText(tile.text.body),
      draw: ({ height }) =>
        tile.text === null ? (
          <Tile tile={tile} zone={timezone} height={height} />
        ) : (
          <Text body={tile.text.body} />
        ),
    }),
  );
  return (
    <TimesIn zone={timezone}>
      <Page
        title={name || words.untitled}
        heading={<Visible text={name || words.untitled} />}
        description={description && <Visible text={description} />}
        actions={<span className="text-ink-3 text-sm">{words.sharedBy}</span>}
      >
        <Grid
          boxes={storedBoxes(tiles)}
          tiles={drawn}
          canMove={false}
          onPreview={ignore}
          onPlace={ignore}
        />
      </Page>
    </TimesIn>
  );
}

const ignore = () => undefined;

const Text = ({ body }: { body: string }) => (
  <TextFrame name={nameOfText(body)}>
    <div className="min-h-0 grow overflow-auto px-4 py-3">
      <Markdown text={body} />
    </div>
  </TextFrame>
);

interface TileProps {
  tile: SharedTile;
  zone: string;
  height: number;
}

function Tile({ tile, zone, height }: TileProps) {
  const { name, description, last_refresh: at } = tile;
  const stored = useQuery(storedQuery(useQueryClient(), tile));
  const question = stored.data?.question ?? null;
  const asked = question === null || at === null ? null : askedOf(tile, question, at, zone);
  return (
    <article
      aria-label={words.tile(name)}
      className="flex h-full min-w-0 flex-col rounded-lg border border-line bg-panel"
    >
      <header className="px-4 pt-2 pb-1">
        <h2 className="line-clamp-2 font-semibold">
          <Visible text={name} />
        </h2>
        {description && (
          <p className="truncate text-ink-2 text-sm">
            <Visible text={description} />
          </p>
        )}
      </header>
      <div className="min-h-0 grow overflow-auto px-4">
        {stored.data !== undefined && question === null && <p>{words.cannotShow}</p>}
        {question !== null && at === null && (
          <p className="text-ink-2">{tile.is_refused ? words.refused : words.awaited}</p>
        )}
        {asked !== null && <SharedResult {...asked} height={height} />}
      </div>
      <footer className="flex items-center gap-2 px-4 pt-1 pb-2 text-ink-3 text-sm">
        {at !== null && (
          <span className="truncate">
            {words.asOf} <Time at={at} />
          </span>
        )}
        {asked !== null && <SharedNotes {...asked} />}
      </footer>
    </article>
  );
}

interface AskedProps {
  question: Question;
  answer: Answer;
}

const askedOf = (tile: SharedTile, question: Question, at: string, zone: string): AskedProps => ({
  question,
  answer: {
    query: { kind: question.kind },
    results: tile.result,
    beside: tile.beside,
    zone,
    calculatedAt: new Date(at),
  },
});

function SharedResult({ height, ...asked }: AskedProps & { height: number }) {
  const kind = useKind(asked.question.kind);
  if (kind.isError) return <Failed error={kind.error} onRetry={() => void kind.refetch()} />;
  if (kind.data === undefined) return <Skeleton rows={4} />;
  return <TileResult kind={kind.data} {...asked} height={height} />;
}

function SharedNotes(asked: AskedProps) {
  const kind = useKind(asked.question.kind);
  return kind.data === undefined ? null : <TileNotes kind={kind.data} {...asked} />;
}
