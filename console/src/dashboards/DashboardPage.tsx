import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { LayoutDashboard, RefreshCw } from "lucide-react";
import { useMemo, useState } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { SavedItemPage } from "@/insights";
import { Notice } from "@/ui/Badge";
import { Button, LinkButton } from "@/ui/Button";
import { Empty } from "@/ui/States";
import { words } from "@/words/dashboards";
import { AddTile } from "./AddTile";
import { DashboardActions } from "./DashboardActions";
import { DashboardTiles } from "./DashboardTiles";
import { FullScreen } from "./FullScreen";
import { type Dashboard, dashboardQuery } from "./queries";
import { ScopeBar } from "./ScopeBar";
import { isSameScope, keptScope, ownScope } from "./scope";

const route = getRouteApi("/signed-in/project/$projectId/dashboards/$dashboardId");
// source: the server's privilege levels
const MAY_EDIT = 37;

export default function DashboardPage() {
  const projectId = useProjectId();
  const { dashboardId } = route.useParams();
  const dashboard = useQuery(dashboardQuery(projectId, Number(dashboardId)));
  const [round, setRound] = useState(0);
  const refresh = () => setRound((before) => before + 1);
  const canEdit = useMayEdit(dashboard.data);
  return (
    <SavedItemPage
      item={dashboard}
      name={dashboard.data ? dashboard.data.name || words.untitled : words.dashboard}
      list="/project/$projectId/dashboards"
      words={words}
      actions={
        dashboard.data && (
          <>
            <Button icon={RefreshCw} onClick={refresh}>
              {words.refresh}
            </Button>
            <AddTile dashboard={dashboard.data} canEdit={canEdit} />
            <DashboardActions dashboard={dashboard.data} canEdit={canEdit} />
          </>
        )
      }
    >
      {(found) => (
        <Content
          key={found.id}
          dashboard={found}
          canEdit={canEdit}
          round={round}
          onRefresh={refresh}
        />
      )}
    </SavedItemPage>
  );
}

/** Return whether the user may change the dashboard. */
function useMayEdit(dashboard: Dashboard | undefined): boolean {
  const canEdit = useCanEdit();
  return canEdit && dashboard?.effective_privilege_level === MAY_EDIT;
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
  const kept = useMemo(() => keptScope(dashboard), [dashboard]);
  const scope = useMemo(() => kept && ownScope(kept, search), [kept, search]);
  const leave = () =>
    void navigate({ search: ({ full: _, ...others }) => others, resetScroll: false });
  const tiles = (isEditable: boolean) => (
    <DashboardTiles
      dashboard={dashboard}
      scope={scope}
      isKeptScope={kept !== null && scope !== null && isSameScope(kept, scope)}
      canEdit={isEditable}
      round={round}
      behind={search.behind}
      onBehind={(behind) =>
        void navigate({
          search: ({ behind: _, ...others }) => ({
            ...others,
            ...(behind !== undefined && { behind }),
          }),
          resetScroll: false,
        })
      }
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
        tiles(canEdit)
      ) : (
        <FullScreen
          name={dashboard.name || words.untitled}
          everyS={search.full}
          onRefresh={onRefresh}
          onClose={leave}
        >
          {tiles(false)}
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
