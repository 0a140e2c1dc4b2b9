import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { BellRing, ChartLine, DatabaseZap, Trash2 } from "lucide-react";
import { useMemo } from "react";
import { useMe, useProjectId } from "@/app/session";
import { KINDS } from "@/insights/kinds";
import { LinkButton } from "@/ui/Button";
import { lazyPart } from "@/ui/lazyPart";
import { LINK, Page } from "@/ui/Page";
import { Empty, Loaded } from "@/ui/States";
import { DataTable } from "@/ui/table";
import { words as alertWords } from "@/words/alerts";
import { nameOfInsight, words } from "@/words/insightsSaved";
import { columnsOf } from "./columns";
import { DeletedInsights } from "./DeletedInsights";
import { InsightFilters } from "./InsightFilters";
import { type Insight, insightsQuery } from "./queries";
import type { InsightsSearch } from "./search";
import { readSeen } from "./seen";
import { kindOfStored } from "./stored";

const AllAlerts = lazyPart(
  "all alerts",
  async () => (await import("@/insights/alerts/AllAlerts")).AllAlerts,
);

const route = getRouteApi("/signed-in/project/$projectId/insights");

export default function InsightsPage() {
  const { deleted, alerts } = route.useSearch();
  const projectId = useProjectId();
  if (deleted)
    return (
      <Page
        title={words.deletedTitle}
        description={words.deletedHint}
        back={
          <Link to="/project/$projectId/insights" params={{ projectId }} className={LINK}>
            {words.title}
          </Link>
        }
      >
        <DeletedInsights />
      </Page>
    );
  if (alerts)
    return (
      <Page
        title={alertWords.title}
        description={alertWords.description}
        back={
          <Link to="/project/$projectId/insights" params={{ projectId }} className={LINK}>
            {words.title}
          </Link>
        }
      >
        <AllAlerts />
      </Page>
    );
  return <SavedInsights projectId={projectId} />;
}

function SavedInsights({ projectId }: { projectId: string }) {
  const insights = useQuery(insightsQuery(projectId, false));
  return (
    <Page
      title={words.title}
      description={words.description}
      actions={
        <>
          <LinkButton
            look="quiet"
            icon={BellRing}
            to="/project/$projectId/insights"
            params={{ projectId }}
            search={{ alerts: true }}
          >
            {alertWords.title}
          </LinkButton>
          <LinkButton
            look="quiet"
            icon={Trash2}
            to="/project/$projectId/insights"
            params={{ projectId }}
            search={{ deleted: true }}
          >
            {words.deletedTitle}
          </LinkButton>
        </>
      }
    >
      <KindLinks projectId={projectId} />
      <Loaded query={insights} rows={6}>
        {(found) => <InsightTable projectId={projectId} insights={found} />}
      </Loaded>
    </Page>
  );
}

/** Starts a new question of each kind with one click. */
function KindLinks({ projectId }: { projectId: string }) {
  return (
    <nav aria-label={words.ask} className="flex flex-wrap items-center gap-2">
      <span className="text-ink-2">{words.ask}:</span>
      {KINDS.map(({ name, label, icon }) => (
        <LinkButton
          key={name}
          icon={icon}
          to="/project/$projectId/insights/new"
          params={{ projectId }}
          search={name === "trends" ? {} : { kind: name }}
        >
          {label}
        </LinkButton>
      ))}
      <LinkButton icon={DatabaseZap} to="/project/$projectId/sql" params={{ projectId }}>
        {words.sql}
      </LinkButton>
    </nav>
  );
}

interface TableProps {
  projectId: string;
  insights: readonly Insight[];
}

function InsightTable({ projectId, insights }: TableProps) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const me = useMe();
  const columns = useMemo(() => columnsOf(readSeen(projectId)), [projectId]);
  const rows = useMemo(
    () => insights.filter((insight) => matches(insight, search, me.id)),
    [insights, search, me.id],
  );
  if (insights.length === 0)
    return (
      <Empty icon={ChartLine} title={words.none}>
        <p>{words.noneHint}</p>
      </Empty>
    );
  return (
    <DataTable<Insight>
      name="insights"
      label={words.table}
      columns={columns}
      initiallyHidden={["created"]}
      rows={rows}
      rowId={({ id }) => String(id)}
      rowLabel={nameOfInsight}
      hrefOf={({ id }) => `/project/${projectId}/insights/${id}`}
      csv={{ fileName: words.csvName, all: () => Promise.resolve(rows) }}
      toolbar={
        <InsightFilters
          search={search}
          insights={insights}
          onChange={(next) => void navigate({ search: next, replace: true })}
        />
      }
      empty={words.noMatch}
    />
  );
}

/** Return whether an insight passes the filters. Insights generated for flags are hidden by
 * default. */
function matches(insight: Insight, search: InsightsSearch, userId: number): boolean {
  const sought = (search.q ?? "").trim().toLowerCase();
  const texts = [nameOfInsight(insight), insight.description, ...insight.tags];
  return (
    texts.some((text) => text.toLowerCase().includes(sought)) &&
    (search.mine === undefined || insight.created_by?.id === userId) &&
    (search.kind === undefined || kindOfStored(insight) === search.kind) &&
    (search.tag === undefined || insight.tags.includes(search.tag)) &&
    (search.generated !== undefined || !insight.is_sample)
  );
}
