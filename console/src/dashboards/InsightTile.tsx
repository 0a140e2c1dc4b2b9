import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { ArrowUpRight, EllipsisVertical, LoaderCircle, RefreshCw, Trash2 } from "lucide-react";
import {
  type ReactNode,
  type RefObject,
  useDeferredValue,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { Annotated, type AnnotatedPlace } from "@/annotations";
import { useProjectId } from "@/app/session";
import {
  ActorsDrawer,
  actorsOf,
  costOf,
  nameOfInsight,
  type Place,
  type Question,
  storedQuery,
  useAnswer,
  useIsAsking,
  useKind,
} from "@/insights";
import { useStable } from "@/lib/hooks";
import { IconButton } from "@/ui/Button";
import { Menu, MenuItem } from "@/ui/Menu";
import { LINK } from "@/ui/Page";
import { Visible } from "@/ui/properties";
import { Failed, Skeleton } from "@/ui/States";
import { Time } from "@/ui/Time";
import { words } from "@/words/dashboards";
import { type Scope, scoped } from "./scope";
import { TileNotes, TileResult } from "./TileResult";
import { answerOf, type InsightTileData } from "./tiles";

export interface InsightTileProps {
  dashboardId: number;
  tile: InsightTileData;
  /** null if the dashboard's filter cannot be shown; the tile then runs no query */
  scope: Scope | null;
  /** Whether the scope is the dashboard's own, with which the tile's answer came. */
  isKeptScope: boolean;
  /** The button that moves the tile. */
  move: ReactNode;
  height: number;
  /** Incremented to refetch all tiles. */
  round: number;
  behind: Place | undefined;
  onBehind: (place: Place | undefined) => void;
  onRemove: (() => void) | undefined;
}

// Off-screen tiles wait until the visible ones have their answers, for at most so long.
const WAIT_MS = 1500;
// How long nothing must be on its way. Visible tiles load what draws them before they ask.
const QUIET_MS = 250;

export function InsightTile(props: InsightTileProps) {
  const { tile, scope, move } = props;
  const projectId = useProjectId();
  const queries = useQueryClient();
  const box = useRef<HTMLElement>(null);
  const isWanted = useWanted(box);
  const isDrawn = useDrawn(box);
  const stored = useQuery(storedQuery(queries, tile.insight));
  const name = nameOfInsight(tile.insight);
  const { question = null } = stored.data ?? {};
  return (
    <article
      ref={box}
      aria-label={words.tile(name)}
      className="flex h-full min-w-0 flex-col rounded-lg border border-line bg-panel"
    >
      {stored.data === undefined || question === null || scope === null ? (
        <>
          <Head name={name} tile={tile} move={move} onRemove={props.onRemove} />
          <div className="min-h-0 grow overflow-auto px-4 pb-3">
            {stored.isError && (
              <Failed error={stored.error} onRetry={() => void stored.refetch()} />
            )}
            {stored.isPending && <Skeleton rows={4} />}
            {stored.data !== undefined && question === null && (
              <p className="text-ink-2">
                {words.cannotShow}{" "}
                <Link
                  to="/project/$projectId/insights/$insightId"
                  params={{ projectId, insightId: String(tile.insight.id) }}
                  className={LINK}
                >
                  {words.asStored}
                </Link>
              </p>
            )}
          </div>
        </>
      ) : (
        <Asked
          {...props}
          name={name}
          question={question}
          scope={scope}
          isWanted={isWanted}
          isDrawn={isDrawn}
        />
      )}
    </article>
  );
}

function usePlace({ dashboardId, tile }: InsightTileProps): AnnotatedPlace {
  const projectId = useProjectId();
  const insightId = tile.insight.id;
  return useMemo(
    () => ({ projectId, dashboardId, insightId }),
    [projectId, dashboardId, insightId],
  );
}

/** Return whether the tile is visible, or the visible ones have had their head start. */
function useWanted(box: RefObject<HTMLElement | null>): boolean {
  const [isWanted, setWanted] = useState(false);
  const isAsking = useIsAsking(useProjectId());
  useEffect(() => {
    const element = box.current;
    if (element === null || isWanted) return;
    const seen = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) setWanted(true);
    });
    seen.observe(element);
    return () => seen.disconnect();
  }, [box, isWanted]);
  useEffect(() => {
    const timer = setTimeout(() => setWanted(true), isAsking ? WAIT_MS : QUIET_MS);
    return () => clearTimeout(timer);
  }, [isAsking]);
  return isWanted;
}

/** Return whether the result may be drawn: at once where the tile is visible, then everywhere. Of twelve
 * tiles a screen shows four, which would wait for all others. */
function useDrawn(box: RefObject<HTMLElement | null>): boolean {
  const [isVisible, setVisible] = useState(false);
  const isLater = useDeferredValue(true, false);
  useLayoutEffect(() => {
    const { top, bottom } = box.current?.getBoundingClientRect() ?? { top: 0, bottom: 0 };
    setVisible(top < window.innerHeight && bottom > 0);
  }, [box]);
  return isVisible || isLater;
}

interface AskedProps extends InsightTileProps {
  name: string;
  question: Question;
  scope: Scope;
  isWanted: boolean;
  isDrawn: boolean;
}

function Asked(props: AskedProps) {
  const { tile, name, question: own, scope, isWanted, height, round, behind, onBehind } = props;
  const question = useMemo(() => scoped(own, scope), [own, scope]);
  const known = useMemo(
    () => (props.isKeptScope ? answerOf(tile) : undefined),
    [props.isKeptScope, tile],
  );
  const kind = useKind(question.kind);
  const query = useMemo(
    () => (kind.data?.missing(question) === null ? kind.data.query(question) : null),
    [kind.data, question],
  );
  const answering = useAnswer(query, { known, isWaiting: !isWanted });
  const { answer, isOutdated, refresh } = answering;
  useRounds(round, refresh);
  const open = useStable(onBehind);
  const place = usePlace(props);
  const missing = kind.data?.missing(question) ?? null;
  const shown = answer !== undefined && !isOutdated ? answer : undefined;
  const number =
    behind !== undefined && kind.data && shown
      ? kind.data.behind({ question, answer: shown }, behind)
      : null;
  return (
    <>
      <Head
        name={name}
        tile={tile}
        move={props.move}
        onRemove={props.onRemove}
        onRefresh={refresh}
      />
      <div
        aria-busy={
          isOutdated || (isWanted && shown === undefined && missing === null && !answering.error)
        }
        className="min-h-0 grow overflow-auto px-4"
      >
        {kind.isError && <Failed error={kind.error} onRetry={() => void kind.refetch()} />}
        {missing !== null && <p className="text-ink-2">{missing}</p>}
        {answering.error !== null && shown === undefined && (
          <Failed error={answering.error} onRetry={answering.retry} />
        )}
        {shown !== undefined && kind.data !== undefined && props.isDrawn && (
          <Annotated value={place}>
            <TileResult
              kind={kind.data}
              question={question}
              answer={shown}
              height={height}
              onOpen={open}
            />
          </Annotated>
        )}
        {shown === undefined && answering.error === null && missing === null && (
          <Skeleton rows={4} />
        )}
      </div>
      <footer className="flex items-center gap-2 px-4 pt-1 pb-2 text-ink-3 text-sm">
        {answering.isBusy && <LoaderCircle aria-hidden className="size-3.5 animate-spin" />}
        {shown === undefined ? (
          <span>{answering.isBusy ? words.calculating : ""}</span>
        ) : (
          <span className="truncate">
            {words.asOf}{" "}
            <Time at={shown.calculatedAt.toISOString()} more={costOf({ answer: shown })} />
          </span>
        )}
        {shown !== undefined && kind.data !== undefined && (
          <TileNotes kind={kind.data} question={question} answer={shown} />
        )}
        {answering.error !== null && shown !== undefined && (
          <span className="truncate text-bad">{answering.error.message}</span>
        )}
      </footer>
      {number !== null && (
        <ActorsDrawer
          source={actorsOf(number.actors)}
          description={number.description}
          name={number.name}
          ofGroups={number.ofGroups ?? false}
          onClose={() => onBehind(undefined)}
        />
      )}
    </>
  );
}

/** Refetch when the round changes. */
function useRounds(round: number, refresh: () => void): void {
  const [asked, setAsked] = useState(round);
  useEffect(() => {
    if (round === asked) return;
    setAsked(round);
    refresh();
  }, [round, asked, refresh]);
}

interface HeadProps {
  name: string;
  tile: InsightTileData;
  move: ReactNode;
  onRemove: (() => void) | undefined;
  onRefresh?: () => void;
}

function Head({ name, tile, move, onRemove, onRefresh }: HeadProps) {
  const projectId = useProjectId();
  const { id, description } = tile.insight;
  const params = { projectId, insightId: String(id) };
  return (
    <header className="flex items-start gap-1 pt-2 pr-2 pb-1 pl-4">
      <div className="min-w-0 grow">
        <h2 className="line-clamp-2 pt-0.5 font-semibold">
          <Link
            to="/project/$projectId/insights/$insightId"
            params={params}
            className="hover:underline"
          >
            <Visible text={name} />
          </Link>
        </h2>
        {description && (
          <p className="truncate text-ink-2 text-sm">
            <Visible text={description} />
          </p>
        )}
      </div>
      {move}
      <Menu
        trigger={
          <IconButton icon={EllipsisVertical} label={words.moreOf(name)} className="size-7" />
        }
      >
        <OpenItem params={params} />
        {onRefresh && (
          <MenuItem icon={RefreshCw} onSelect={onRefresh}>
            {words.refreshTile}
          </MenuItem>
        )}
        {onRemove && (
          <MenuItem icon={Trash2} onSelect={onRemove}>
            {words.removeTile}
          </MenuItem>
        )}
      </Menu>
    </header>
  );
}

function OpenItem({ params }: { params: { projectId: string; insightId: string } }) {
  const navigate = useNavigate();
  return (
    <MenuItem
      icon={ArrowUpRight}
      onSelect={() => void navigate({ to: "/project/$projectId/insights/$insightId", params })}
    >
      {words.open}
    </MenuItem>
  );
}
