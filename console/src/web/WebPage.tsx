import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { RefreshCw } from "lucide-react";
import { useMemo } from "react";
import { type Project, projectsQuery, useProject, useProjectId } from "@/app/session";
import { readStored } from "@/lib/storage";
import { IconButton } from "@/ui/Button";
import { DateRangeField } from "@/ui/DateRange";
import { Drawer } from "@/ui/Drawer";
import { lazyPart } from "@/ui/lazyPart";
import { Page } from "@/ui/Page";
import { readRange } from "@/ui/ranges";
import { Skeleton } from "@/ui/States";
import { words } from "@/words/web";
import type { AllRowsProps } from "./AllRows";
import type { PanelName } from "./breakdowns";
import type { Rule } from "./cleaning";
import { propertiesOf } from "./conditions";
import { Filters, Switches } from "./Filters";
import type { GoalsProps } from "./Goals";
import { apiGoalOf, isGoals, storageOf } from "./goals";
import { Overview } from "./Overview";
import { VIEWS } from "./overTime";
import { Panel } from "./Panel";
import { askAgain, liveVisitorsQuery, overviewOf, webQuery } from "./queries";
import { useWebSearch } from "./search";
import type { View } from "./view";

const USUAL = { from: "-30d" };
const PRESETS = [
  "dStart",
  "-1dStart -1dEnd",
  "-7d",
  "-30d",
  "mStart",
  "-1mStart -1mEnd",
  "-90d",
  "-12m",
] as const;
const ORDER: readonly PanelName[] = ["sources", "pages", "places", "devices"];

const AllRows = lazyPart<AllRowsProps>(
  "web rows",
  async () => (await import("./AllRows")).default,
  8,
);

// Below the panels, out of sight at first.
const Goals = lazyPart<GoalsProps>("goals", async () => (await import("./Goals")).default, 3);

const NoViews = lazyPart<object>("no views", async () => (await import("./NoViews")).default, 9);

/** Web analytics: how many people visit a site, where they come from, what they view and on which
 * devices. */
export default function WebPage() {
  // Wait for the project: it decides which switches the header has, and so its height.
  const isWaiting = useQuery(projectsQuery).isPending;
  if (!isWaiting) return <Visitors />;
  return (
    <Page title={words.title}>
      <Skeleton rows={9} />
    </Page>
  );
}

function Visitors() {
  const [search, change] = useWebSearch();
  const project = useProject();
  const projectId = useProjectId();
  const view = useView(project);
  const overview = useQuery(webQuery(projectId, overviewOf(view.common)));
  const isReady = overview.data !== undefined;
  const unknown = overview.data?.unknownEvents ?? [];
  const client = useQueryClient();
  if (VIEWS.every((event) => unknown.includes(event)))
    return (
      <Page title={words.title}>
        <NoViews />
      </Page>
    );
  return (
    <Page
      title={words.title}
      description={<LiveVisitors />}
      actions={
        <>
          <Switches
            view={view}
            hasTests={(project?.test_account_filters.length ?? 0) > 0}
            hasRules={rulesOf(project).length > 0}
          />
          <IconButton
            icon={RefreshCw}
            label={words.refresh}
            onClick={() => askAgain(client, projectId)}
          />
          <DateRangeField
            value={readRange(search, USUAL)}
            zone={view.zone}
            presets={PRESETS}
            canCompare
            onChange={({ from, to, compare }) => change({ from, to, compare, behind: undefined })}
          />
        </>
      }
    >
      <Filters view={view} />
      <Overview view={view} />
      <div className="grid gap-4 lg:grid-cols-2">
        {ORDER.map((name) => (
          <Panel key={name} name={name} view={view} isReady={isReady} />
        ))}
      </div>
      <Goals view={view} isReady={isReady} />
      {search.all !== undefined && (
        <Drawer title={words.titles[search.all]} onClose={() => change({ all: undefined })}>
          <AllRows key={search.all} by={search.all} view={view} />
        </Drawer>
      )}
    </Page>
  );
}

function useView(project: Project | undefined): View {
  const projectId = useProjectId();
  const [search, change] = useWebSearch();
  return useMemo(() => {
    const rules = rulesOf(project);
    const where = search.where ?? [];
    const { range, isCompared } = readRange(search, USUAL);
    return {
      search,
      change,
      zone: project?.timezone ?? "UTC",
      common: {
        range,
        isCompared,
        properties: propertiesOf(where, rules),
        hidesTests: search.tests !== true,
        goal: search.goal === undefined ? undefined : apiGoalOf(search.goal),
      },
      where,
      rules: search.raw ? [] : rules,
      goals: search.goals ?? readStored(storageOf(projectId), [], isGoals),
    };
  }, [search, change, project, projectId]);
}

const rulesOf = (project: Project | undefined): Rule[] =>
  (project?.path_cleaning_filters ?? []).map(({ regex, alias }) => ({
    regex: String(regex),
    alias: String(alias ?? ""),
  }));

/** The number of current visitors; not polled while the page is hidden. */
function LiveVisitors() {
  const projectId = useProjectId();
  const live = useQuery(liveVisitorsQuery(projectId));
  return (
    <Link
      to="/project/$projectId/live"
      params={{ projectId }}
      title={words.liveHint}
      className="flex h-6 w-fit items-center gap-2 text-ink-2 hover:text-ink hover:underline"
    >
      {live.data !== undefined && (
        <>
          <span
            aria-hidden
            className={`size-2 rounded-full ${live.data > 0 ? "bg-good" : "bg-line-strong"}`}
          />
          {words.live(live.data)}
        </>
      )}
    </Link>
  );
}
