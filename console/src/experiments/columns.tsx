import { Visible } from "@/ui/properties";
import { Time } from "@/ui/Time";
import type { Column } from "@/ui/table";
import { words } from "@/words/experiments";
import { formatNumber } from "@/words/format";
import { daysOf } from "./days";
import { ExperimentState } from "./ExperimentState";
import type { ListedExperiment } from "./queries";

const authorOf = ({ created_by: by }: ListedExperiment): string =>
  by?.first_name || by?.email || "";

/** The sentence of the last calculation. */
function verdictOf({ latest_verdict: latest, start_date: start }: ListedExperiment): string {
  if (latest !== null) return latest.sentence;
  return start ? words.noVerdict : words.noDays;
}

export const COLUMNS: Column<ListedExperiment>[] = [
  {
    id: "name",
    header: words.columns.name,
    grow: true,
    fixed: true,
    cell: ({ name }) => <Visible text={name} />,
    text: ({ name }) => name,
  },
  {
    id: "state",
    header: words.columns.state,
    width: 110,
    cell: (experiment) => <ExperimentState experiment={experiment} />,
    text: ({ status }) => words.states[status],
  },
  {
    id: "verdict",
    header: words.columns.verdict,
    grow: true,
    cell: (experiment) => <Visible text={verdictOf(experiment)} />,
    text: verdictOf,
  },
  {
    id: "flag",
    header: words.columns.flag,
    width: 150,
    cell: ({ feature_flag_key: key }) => <Visible text={key} />,
    text: ({ feature_flag_key: key }) => key,
  },
  {
    id: "days",
    header: words.columns.days,
    width: 90,
    align: "end",
    cell: (experiment) => daysText(experiment),
    text: (experiment) => daysOf(experiment),
  },
  {
    id: "exposures",
    header: words.columns.exposures,
    width: 100,
    align: "end",
    cell: ({ latest_verdict: latest }) =>
      latest === null ? words.noDays : formatNumber(latest.exposures),
    text: ({ latest_verdict: latest }) => latest?.exposures ?? null,
  },
  {
    id: "by",
    header: words.columns.by,
    width: 140,
    cell: (experiment) => <Visible text={authorOf(experiment)} />,
    text: authorOf,
  },
  {
    id: "created",
    header: words.columns.created,
    width: 140,
    cell: ({ created_at: at }) => <Time at={at} />,
    text: ({ created_at: at }) => new Date(at),
  },
];

function daysText(experiment: ListedExperiment): string {
  const days = daysOf(experiment);
  return days === null ? words.noDays : formatNumber(days);
}
