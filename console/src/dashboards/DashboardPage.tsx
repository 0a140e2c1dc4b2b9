import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { LayoutDashboard, RefreshCw } from "lucide-react";
import { useState } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { nameOfInsight } from "@/insights";
import { ApiError } from "@/lib/errors";
import { Notice } from "@/ui/Badge";
import { Button, LinkButton } from "@/ui/Button";
import { LINK, Page } from "@/ui/Page";
import { Visible } from "@/ui/properties";
import { Empty, Loaded } from "@/ui/States";
import { toast, toastError } from "@/ui/Toast";
import { words } from "@/words/dashboards";
import { AddInsight } from "./AddInsight";
import { DashboardActions } from "./DashboardActions";
import { FullScreen } from "./FullScreen";
import { Grid, type GridTile } from "./Grid";
import { InsightTile } from "./InsightTile";
import { useLayout } from "./layout";
import { type Dashboard, dashboardQuery, type Tile, useDashboardChange } from "./queries";
import { ScopeBar } from "./ScopeBar";
import { keptScope, ownScope } from "./scope";

const route = getRouteApi("/signed-in/project/$projectId/dashboards/$dashboardId");
// source: the server's privilege levels
const MAY_EDIT = 37;

export default function DashboardPage() {
  const projectId = useProjectId();
  const { dashboardId } = route.useParams();
  const dashboard = useQuery(dashboardQuery(projectId, Number(dashboardId)));
  const name = dashboard.data ? dashboard.data.name || words.untitled : words.dashboard;
  const isMissing = dashboard.error instanceof ApiError && dashboard.error.status === 404;
  const [round, setRound] = useState(0);
  const refresh = () => setRound((before) => before + 1);
  const canEdit = useMayEdit(dashboard.data);
  return (
    <Page
      title={name}
      heading={<Visible text={name} />}
      description={dashboard.data?.description && <Visible text={dashboard.data.description} />}
      back={
        <Link to="/project/$projectId/dashboards" params={{ projectId }} className={LINK}>
          {words.title}
        </Link>
      }
      actions={
        dashboard.data && (
          <>
            <Button icon={RefreshCw} onClick={refresh}>
              {words.refresh}
            </Button>
            <AddInsight dashboard={dashboard.data} canEdit={canEdit} />
            <DashboardActions dashboard={dashboard.data} canEdit={canEdit} />
          </>
        )
      }
    >
      {isMissing ? (
        <Missing projectId={projectId} />
      ) : (
        <Loaded query={dashboard} rows={8}>
          {(found) => (
            <Content
              key={found.id}
              dashboard={found}
              canEdit={canEdit}
              round={round}
              onRefresh={refresh}
            />
          )}
        </Loaded>
      )}
    </Page>
  );
}

/** Return whether the user may change the dashboard. */
function useMayEdit(dashboard: Dashboard | undefined): boolean {
  const canEdit = useCanEdit();
  return canEdit && dashboard?.effective_privilege_level === MAY_EDIT;
}

function Missing({ projectId }: { projectId: string }) {
  return (
    <div className="flex flex-col items-start gap-2">
      <p>{words.notFound}</p>
      <Link
        to="/project/$projectId/dashboards"
        params={{ projectId }}
        search={{ deleted: true }}
        className={LINK}
      >
        {words.toDeleted}
      </Link>
    </div>
  );
}

interface ContentProps {
  dashboard: Dashboard;
  canEdit: boolean;
  round: number;
  onRefresh: () => void;
}

function Content({ dashboard, canEdit, round, onRefresh }: ContentProps) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const kept = keptScope(dashboard);
  const scope = kept === null ? null : ownScope(kept, search);
  const layout = useLayout(dashboard);
  const tiles = useTiles(dashboard, canEdit, round);
  const leave = () =>
    void navigate({ search: ({ full: _, ...others }) => others, resetScroll: false });
  const grid = (canMove: boolean) => (
    <Grid
      boxes={layout.boxes}
      tiles={tiles}
      canMove={canMove}
      onPreview={layout.preview}
      onPlace={layout.place}
    />
  );
  if (dashboard.tiles.length === 0) return <NoTiles />;
  return (
    <>
      {kept === null || scope === null ? (
        <Notice tone="warn">{words.unreadableFilters}</Notice>
      ) : (
        <ScopeBar dashboard={dashboard} kept={kept} scope={scope} canEdit={canEdit} />
      )}
      {search.full === undefined ? (
        grid(canEdit)
      ) : (
        <FullScreen
          name={dashboard.name || words.untitled}
          everyS={search.full}
          onRefresh={onRefresh}
          onClose={leave}
        >
          {grid(false)}
        </FullScreen>
      )}
    </>
  );
}

function NoTiles() {
  const projectId = useProjectId();
  return (
    <Empty icon={LayoutDashboard} title={words.empty}>
      <p>{words.emptyHint}</p>
      <LinkButton to="/project/$projectId/insights/new" params={{ projectId }}>
        {words.askNew}
      </LinkButton>
    </Empty>
  );
}

function useTiles(dashboard: Dashboard, canEdit: boolean, round: number): GridTile[] {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const kept = keptScope(dashboard);
  const scope = kept === null ? null : ownScope(kept, search);
  const remove = useRemoval(dashboard);
  const { tile: behindId, ...behind } = search.behind ?? {};
  return dashboard.tiles.map((tile) => ({
    id: tile.id,
    name: nameOfInsight(tile.insight),
    draw: ({ move, height }) => (
      <InsightTile
        tile={tile}
        scope={scope}
        move={move}
        height={height}
        round={round}
        behind={behindId === tile.id ? behind : undefined}
        onBehind={(place) =>
          void navigate({
            search: ({ behind: _, ...others }) => ({
              ...others,
              ...(place !== undefined && { behind: { ...place, tile: tile.id } }),
            }),
            resetScroll: false,
          })
        }
        onRemove={canEdit ? () => void remove(tile) : undefined}
      />
    ),
  }));
}

/** Remove a tile, with a toast to undo it. */
function useRemoval(dashboard: Dashboard) {
  const change = useDashboardChange(dashboard.id);
  return async ({ id, insight }: Tile) => {
    try {
      await change.mutateAsync({ tiles: [{ id, deleted: true }] });
    } catch (error) {
      toastError(error);
      return;
    }
    const undo = () => change.mutateAsync({ tiles: [{ id, deleted: false }] });
    toast({ text: words.removedTile(nameOfInsight(insight)), undo });
  };
}
