import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useMemo, useState } from "react";
import { useProjectId } from "@/app/session";
import { ApiError } from "@/lib/errors";
import type { Given } from "@/lib/searchParams";
import { Notice } from "@/ui/Badge";
import { Visible } from "@/ui/properties";
import { Loaded } from "@/ui/States";
import { words } from "@/words/dashboards";
import { DashboardTiles } from "./DashboardTiles";
import { type Dashboard, dashboardQuery } from "./queries";
import { keptScope } from "./scope";

interface Props {
  id: number;
  above: ReactNode;
  /** Shown in its place if the dashboard was deleted. */
  children: ReactNode;
}

/** The tiles of the dashboard that is the project's home, with its own period and filter. */
export function HomeDashboard({ id, above, children }: Props) {
  // One that was deleted a moment ago is still in the cache.
  const dashboard = useQuery({
    ...dashboardQuery(useProjectId(), id),
    refetchOnMount: "always",
  });
  const isGone = dashboard.error instanceof ApiError && dashboard.error.status === 404;
  if (isGone) return children;
  return (
    <>
      {above}
      <Loaded query={dashboard} rows={8}>
        {(found) => <Shown key={found.id} dashboard={found} />}
      </Loaded>
    </>
  );
}

function Shown({ dashboard }: { dashboard: Dashboard }) {
  const projectId = useProjectId();
  const [behind, setBehind] = useState<Given>();
  const scope = useMemo(() => keptScope(dashboard), [dashboard]);
  return (
    <section aria-label={dashboard.name || words.untitled} className="flex min-w-0 flex-col gap-3">
      <h2 className="font-semibold text-lg">
        <Link
          to="/project/$projectId/dashboards/$dashboardId"
          params={{ projectId, dashboardId: String(dashboard.id) }}
          className="hover:underline"
        >
          <Visible text={dashboard.name || words.untitled} />
        </Link>
      </h2>
      {scope === null && <Notice tone="warn">{words.unreadableFilters}</Notice>}
      {dashboard.tiles.length === 0 && <p className="text-ink-2">{words.empty}</p>}
      <DashboardTiles
        dashboard={dashboard}
        scope={scope}
        isKeptScope
        canEdit={false}
        round={0}
        behind={behind}
        onBehind={setBehind}
      />
    </section>
  );
}
