import { LoaderCircle } from "lucide-react";
import { Badge, type Tone } from "@/ui/Badge";
import { Visible } from "@/ui/properties";
import { Time } from "@/ui/Time";
import type { Column } from "@/ui/table";
import { words } from "@/words/cohorts";
import { formatNumber } from "@/words/format";
import type { Cohort } from "./queries";

const NAME: Column<Cohort> = {
  id: "name",
  header: words.columns.name,
  grow: true,
  fixed: true,
  cell: ({ name }) => <Visible text={name || words.untitled} />,
  text: ({ name }) => name,
};

const KIND: Column<Cohort> = {
  id: "kind",
  header: words.columns.kind,
  width: 100,
  cell: (cohort) => <Badge>{kindOf(cohort)}</Badge>,
  text: (cohort) => kindOf(cohort),
};

const COUNT: Column<Cohort> = {
  id: "count",
  header: words.columns.count,
  width: 100,
  align: "end",
  cell: ({ count }) => (count === null ? words.notCalculated : formatNumber(count)),
  text: ({ count }) => count,
};

const STATE: Column<Cohort> = {
  id: "state",
  header: words.columns.state,
  width: 150,
  cell: (cohort) => <CohortState cohort={cohort} />,
  text: (cohort) => stateOf(cohort).text,
};

const CALCULATED: Column<Cohort> = {
  id: "calculated",
  header: words.columns.calculated,
  width: 140,
  cell: (cohort) => <Time at={cohort.last_calculation} />,
  text: ({ last_calculation: at }) => (at === null ? null : new Date(at)),
};

const BY: Column<Cohort> = {
  id: "by",
  header: words.columns.by,
  cell: (cohort) => <Visible text={authorOf(cohort)} />,
  text: (cohort) => authorOf(cohort),
};

const CREATED: Column<Cohort> = {
  id: "created",
  header: words.columns.created,
  width: 140,
  cell: (cohort) => <Time at={cohort.created_at} />,
  text: ({ created_at: at }) => new Date(at),
};

const kindOf = (cohort: Cohort): string =>
  cohort.is_static ? words.kinds.static : words.kinds.dynamic;

const authorOf = ({ created_by: by }: Cohort): string => by?.first_name || by?.email || "";

/** flagCounts: by the id of the cohort; undefined while they are not known */
export function columnsOf(flagCounts: ReadonlyMap<string, number> | undefined): Column<Cohort>[] {
  const used: Column<Cohort> = {
    id: "used",
    header: words.columns.used,
    width: 110,
    cell: ({ id }) => usedText(flagCounts, id),
    text: ({ id }) => flagCounts?.get(String(id)) ?? 0,
  };
  return [NAME, KIND, COUNT, STATE, CALCULATED, used, BY, CREATED];
}

function usedText(flagCounts: ReadonlyMap<string, number> | undefined, id: number): string {
  const count = flagCounts?.get(String(id));
  return count === undefined ? words.unused : words.flags(count);
}

function stateOf(cohort: Cohort): { text: string; tone: Tone } {
  if (cohort.is_calculating) return { text: words.states.calculating, tone: "info" };
  if (cohort.errors_calculating > 0) {
    return { text: words.states.failed(cohort.errors_calculating), tone: "bad" };
  }
  return { text: words.states.ready, tone: "good" };
}

export function CohortState({ cohort }: { cohort: Cohort }) {
  const { text, tone } = stateOf(cohort);
  return (
    <Badge tone={tone}>
      {cohort.is_calculating && <LoaderCircle aria-hidden className="size-3.5 animate-spin" />}
      {text}
    </Badge>
  );
}
