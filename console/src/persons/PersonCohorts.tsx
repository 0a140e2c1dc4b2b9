import { useQuery } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import type { components } from "@/lib/schema";
import { Badge } from "@/ui/Badge";
import { Visible } from "@/ui/properties";
import { Loaded } from "@/ui/States";
import { Time } from "@/ui/Time";
import { type Column, DataTable } from "@/ui/table";
import { formatNumber } from "@/words/format";
import { words } from "@/words/persons";
import { type Person, personCohortsQuery } from "./queries";

type Cohort = components["schemas"]["CohortBody"];
const WORDS = words.cohorts;
const kindOf = (cohort: Cohort): string => (cohort.is_static ? WORDS.static : WORDS.dynamic);

const COLUMNS: readonly Column<Cohort>[] = [
  {
    id: "name",
    header: WORDS.name,
    grow: true,
    fixed: true,
    sortable: true,
    cell: ({ name }) => <Visible text={name || WORDS.untitled} />,
    text: ({ name }) => name,
  },
  {
    id: "kind",
    header: WORDS.kind,
    sortable: true,
    cell: (cohort) => <Badge>{kindOf(cohort)}</Badge>,
    text: kindOf,
  },
  {
    id: "count",
    header: WORDS.count,
    align: "end",
    sortable: true,
    cell: ({ count }) => (count === null ? "–" : formatNumber(count)),
    text: ({ count }) => count,
  },
  {
    id: "calculated",
    header: WORDS.calculated,
    sortable: true,
    cell: (cohort) => <Time at={cohort.last_calculation} />,
    text: (cohort) => cohort.last_calculation,
  },
];

export function PersonCohorts({ person }: { person: Person }) {
  const projectId = useProjectId();
  const cohorts = useQuery(personCohortsQuery(projectId, person.id));
  return (
    <Loaded query={cohorts}>
      {(rows) => (
        <DataTable<Cohort>
          name="person-cohorts"
          label={WORDS.label}
          columns={COLUMNS}
          rows={rows}
          rowId={({ id }) => String(id)}
          hrefOf={({ id }) => `/project/${projectId}/cohorts/${id}`}
          toolbar={<p className="text-ink-2">{WORDS.hint}</p>}
          empty={WORDS.empty}
        />
      )}
    </Loaded>
  );
}
