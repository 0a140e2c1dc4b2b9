import { useQuery } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { Badge } from "@/ui/Badge";
import { Visible } from "@/ui/properties";
import { Loaded } from "@/ui/States";
import { ClockTime } from "@/ui/Time";
import { type Column, DataTable } from "@/ui/table";
import { words } from "@/words/cohorts";
import { formatNumber } from "@/words/format";
import { type Calculation, type Cohort, calculationsQuery } from "./queries";

const WORDS = words.history;

const COLUMNS: readonly Column<Calculation>[] = [
  {
    id: "started",
    header: WORDS.started,
    width: 170,
    fixed: true,
    cell: ({ started_at: at }) => <ClockTime at={at} />,
    text: ({ started_at: at }) => at,
  },
  {
    id: "result",
    header: WORDS.result,
    width: 100,
    cell: (one) => (
      <Badge tone={one.is_successful ? "good" : "bad"}>
        {one.is_successful ? WORDS.good : WORDS.bad}
      </Badge>
    ),
    text: (one) => (one.is_successful ? WORDS.good : WORDS.bad),
  },
  {
    id: "count",
    header: WORDS.count,
    width: 100,
    align: "end",
    cell: ({ count }) => (count === null ? words.notCalculated : formatNumber(count)),
    text: ({ count }) => count,
  },
  {
    id: "took",
    header: WORDS.took,
    width: 100,
    align: "end",
    cell: ({ total_query_ms: ms }) => `${formatNumber(ms)} ms`,
    text: ({ total_query_ms: ms }) => ms,
  },
  {
    id: "rows",
    header: WORDS.rows,
    width: 110,
    align: "end",
    cell: ({ total_read_rows: rows }) => formatNumber(rows),
    text: ({ total_read_rows: rows }) => rows,
  },
  {
    id: "why",
    header: WORDS.why,
    grow: true,
    wrap: true,
    cell: (one) => <Visible text={noteOf(one)} />,
    text: (one) => noteOf(one),
  },
];

function noteOf({ error, uploaded }: Calculation): string {
  if (error !== null) return error;
  return uploaded === null ? "" : WORDS.imported(uploaded.matched, uploaded.rows);
}

export function CohortHistory({ cohort }: { cohort: Cohort }) {
  const history = useQuery(calculationsQuery(useProjectId(), cohort.id, cohort.last_calculation));
  return (
    <Loaded query={history}>
      {(rows) => (
        <DataTable<Calculation>
          name="cohort-history"
          label={WORDS.label}
          columns={COLUMNS}
          rows={rows}
          rowId={({ id }) => String(id)}
          toolbar={<p className="text-ink-2">{WORDS.hint}</p>}
          empty={WORDS.empty}
        />
      )}
    </Loaded>
  );
}
