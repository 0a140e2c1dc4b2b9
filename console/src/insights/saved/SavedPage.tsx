import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect } from "react";
import { useProjectId } from "@/app/session";
import { dashboardsQuery } from "@/lib/dashboardList";
import { Badge } from "@/ui/Badge";
import { lazyPart } from "@/ui/lazyPart";
import { LINK } from "@/ui/Page";
import { Visible } from "@/ui/properties";
import { Loaded } from "@/ui/States";
import { type Tab, Tabs } from "@/ui/Tabs";
import { nameOfInsight, words } from "@/words/insightsSaved";
import { type Insight, insightQuery } from "./queries";
import { SavedActions } from "./SavedActions";
import { SavedItemPage } from "./SavedItemPage";
import type { InsightTab } from "./search";
import { useSeen } from "./seen";
import { type Stored, storedQuery } from "./stored";
import { UnreadableQuestion } from "./UnreadableQuestion";

const SavedQuestion = lazyPart(
  "saved question",
  async () => (await import("./SavedQuestion")).SavedQuestion,
  8,
);

const InsightActivity = lazyPart(
  "insight activity",
  async () => (await import("./InsightActivity")).InsightActivity,
);

const AlertsTab = lazyPart(
  "insight alerts",
  async () => (await import("@/insights/alerts/AlertsTab")).AlertsTab,
);

const SavedSql = lazyPart(
  "saved sql",
  async () => (await import("@/insights/sql/SavedSql")).SavedSql,
);

const route = getRouteApi("/signed-in/project/$projectId/insights/$insightId");

export default function SavedPage() {
  const projectId = useProjectId();
  const { insightId } = route.useParams();
  const queries = useQueryClient();
  const insight = useQuery(insightQuery(projectId, Number(insightId)));
  const stored = useQuery({
    ...storedQuery(queries, insight.data ?? { filters: {}, query: null }),
    enabled: insight.data !== undefined,
  });
  useSeen(insight.data?.id);
  usePart(queries);
  return (
    <SavedItemPage
      item={insight}
      name={insight.data ? nameOfInsight(insight.data) : words.insight}
      list="/project/$projectId/insights"
      words={words}
      actions={insight.data && <SavedActions key={insight.data.id} insight={insight.data} />}
    >
      {(found) => (
        <>
          <Places insight={found} />
          <Loaded query={stored} rows={8}>
            {(read) => <Content key={found.id} insight={found} stored={read} />}
          </Loaded>
        </>
      )}
    </SavedItemPage>
  );
}

/** Loads the question while the insight is read. Other tabs do without its builder. */
function usePart(queries: QueryClient): void {
  const { tab = "question" } = route.useSearch();
  useEffect(() => {
    if (tab === "question") void SavedQuestion.load(queries);
  }, [queries, tab]);
}

/** The insight's tags and the dashboards it is on. */
function Places({ insight }: { insight: Insight }) {
  const projectId = useProjectId();
  const dashboards = useQuery(dashboardsQuery(projectId));
  const shownOn = dashboards.data?.filter(({ id }) => insight.dashboards.includes(id)) ?? [];
  const isWaiting = dashboards.isPending && insight.dashboards.length > 0;
  if (insight.tags.length + shownOn.length === 0 && !isWaiting) return null;
  return (
    <div className="-mt-2 flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1 text-ink-2">
      {insight.tags.map((tag) => (
        <Badge key={tag}>
          <Visible text={tag} />
        </Badge>
      ))}
      {isWaiting && "\u00a0"}
      {shownOn.length > 0 && (
        <span className="flex min-w-0 flex-wrap gap-x-2">
          {words.on}
          {shownOn.map(({ id, name }) => (
            <Link
              key={id}
              to="/project/$projectId/dashboards/$dashboardId"
              params={{ projectId, dashboardId: String(id) }}
              className={LINK}
            >
              <Visible text={name || words.untitledDashboard} />
            </Link>
          ))}
        </span>
      )}
    </div>
  );
}

function Content({ insight, stored }: { insight: Insight; stored: Stored }) {
  const { tab = "question" } = route.useSearch();
  const navigate = route.useNavigate();
  const question =
    stored.question === null ? (
      <UnreadableQuestion insight={insight} problems={stored.problems} />
    ) : stored.question.kind === "sql" ? (
      <SavedSql insight={insight} stored={stored.question} />
    ) : (
      <SavedQuestion insight={insight} stored={stored.question} />
    );
  const tabs: Tab<InsightTab>[] = [
    { id: "question", label: words.tabs.question, content: question },
    {
      id: "alerts",
      label: words.tabs.alerts,
      content: <AlertsTab insightId={insight.id} insightName={nameOfInsight(insight)} />,
    },
    {
      id: "activity",
      label: words.tabs.activity,
      content: <InsightActivity insightId={insight.id} />,
    },
  ];
  // Only lines and numbers over time have alerts.
  const shown = stored.question?.kind === "sql" ? tabs.filter(({ id }) => id !== "alerts") : tabs;
  return (
    <Tabs
      label={words.tabs.label}
      tabs={shown}
      selected={tab}
      onSelect={(id) =>
        void navigate({
          search: ({ tab: _, page: __, alert: ___, edit: ____, ...others }) =>
            id === "question" ? others : { ...others, tab: id },
        })
      }
    />
  );
}
