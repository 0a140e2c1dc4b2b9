import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { BellRing } from "lucide-react";
import { useMemo } from "react";
import { useProjectId } from "@/app/session";
import { type Insight, insightsQuery } from "@/insights/saved/queries";
import { ALERT_STATES, type InsightsSearch } from "@/insights/saved/search";
import { SearchInput } from "@/ui/Field";
import { Visible } from "@/ui/properties";
import { Select } from "@/ui/Select";
import { Empty, Loaded } from "@/ui/States";
import { type Column, DataTable } from "@/ui/table";
import { words } from "@/words/alerts";
import { nameOfInsight } from "@/words/insightsSaved";
import { COLUMNS, stateOf } from "./columns";
import { type Alert, alertsQuery, hrefOfAlert } from "./queries";

const route = getRouteApi("/signed-in/project/$projectId/insights");
const ANY = "";
const NO_INSIGHTS: readonly Insight[] = [];

/** All alerts of the project, those that fire first. */
export function AllAlerts() {
  const projectId = useProjectId();
  const alerts = useQuery(alertsQuery(projectId));
  const insights = useQuery(insightsQuery(projectId, false)).data;
  return (
    <Loaded query={alerts} rows={6} isWaiting={insights === undefined}>
      {(all) =>
        all.length === 0 ? (
          <Empty icon={BellRing} title={words.noneInProject}>
            <p>{words.noneInProjectHint}</p>
          </Empty>
        ) : (
          <AlertTable alerts={all} insights={insights ?? NO_INSIGHTS} />
        )
      }
    </Loaded>
  );
}

interface TableProps {
  alerts: readonly Alert[];
  insights: readonly Insight[];
}

function AlertTable({ alerts, insights }: TableProps) {
  const projectId = useProjectId();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const names = useMemo(
    () => new Map(insights.map((insight) => [insight.id, nameOfInsight(insight)])),
    [insights],
  );
  const columns = useMemo(() => withInsight(names), [names]);
  const rows = useMemo(
    () => alerts.filter((alert) => matches(alert, names, search)).toSorted(byUrgency),
    [alerts, names, search],
  );
  return (
    <DataTable<Alert>
      name="alerts"
      label={words.title}
      columns={columns}
      initiallyHidden={["schedule"]}
      rows={rows}
      rowId={({ id }) => String(id)}
      rowLabel={({ name }) => name}
      hrefOf={(alert) => hrefOfAlert(projectId, alert)}
      csv={{ fileName: words.csvName, all: () => rows }}
      toolbar={
        <>
          <SearchInput
            label={words.search}
            value={search.q ?? ""}
            onChange={(q) =>
              void navigate({
                search: ({ q: _, ...others }) => (q === "" ? others : { ...others, q }),
                replace: true,
              })
            }
            className="w-64 max-w-full"
          />
          <span className="w-40">
            <Select
              aria-label={words.stateFilter}
              value={search.state ?? ANY}
              options={[
                { value: ANY, label: words.anyState },
                ...ALERT_STATES.map((value) => ({ value, label: words.states[value] })),
              ]}
              onChange={(chosen) => {
                const state = ALERT_STATES.find((one) => one === chosen);
                void navigate({
                  search: ({ state: _, ...others }) => (state ? { ...others, state } : others),
                  replace: true,
                });
              }}
            />
          </span>
        </>
      }
      empty={words.noMatch}
    />
  );
}

const byUrgency = (a: Alert, b: Alert): number =>
  ALERT_STATES.indexOf(stateOf(a)) - ALERT_STATES.indexOf(stateOf(b));

function matches(
  alert: Alert,
  names: ReadonlyMap<number, string>,
  { q = "", state }: InsightsSearch,
): boolean {
  const sought = q.trim().toLowerCase();
  const texts = [alert.name, names.get(alert.insight) ?? ""];
  return (
    texts.some((text) => text.toLowerCase().includes(sought)) &&
    (state === undefined || stateOf(alert) === state)
  );
}

/** The columns with the insight's name after the alert's. */
function withInsight(names: ReadonlyMap<number, string>): readonly Column<Alert>[] {
  const nameOf = ({ insight }: Alert) => names.get(insight) ?? words.insightDeleted;
  const insight: Column<Alert> = {
    id: "insight",
    header: words.columns.insight,
    grow: true,
    sortable: true,
    cell: (alert) => <Visible text={nameOf(alert)} />,
    text: nameOf,
  };
  return COLUMNS.flatMap((column) => (column.id === "name" ? [column, insight] : [column]));
}
