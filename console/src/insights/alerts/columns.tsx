import type { AlertState } from "@/insights/saved/search";
import { Badge, type Tone } from "@/ui/Badge";
import { Visible } from "@/ui/properties";
import { Time } from "@/ui/Time";
import type { Column } from "@/ui/table";
import { words } from "@/words/alerts";
import { formatNumber } from "@/words/format";
import { conditionOf } from "./names";
import type { Alert } from "./queries";

const HEADERS = words.columns;
const TONES: Readonly<Record<AlertState, Tone>> = {
  firing: "bad",
  not_firing: "good",
  errored: "warn",
  not_checked: "info",
  snoozed: "neutral",
  off: "neutral",
};

export const StateBadge = ({ state }: { state: AlertState }) => (
  <Badge tone={TONES[state]}>{words.states[state]}</Badge>
);

export function stateOf({ enabled, state, snoozed_until: until }: Alert): AlertState {
  if (!enabled) return "off";
  return until === null ? state : "snoozed";
}

export const valueText = (value: number | null): string =>
  value === null ? "" : formatNumber(value);

/** The columns that every list of alerts has. */
export const COLUMNS: readonly Column<Alert>[] = [
  {
    id: "state",
    header: HEADERS.state,
    width: 130,
    sortable: true,
    fixed: true,
    cell: (alert) => <StateBadge state={stateOf(alert)} />,
    text: (alert) => words.states[stateOf(alert)],
  },
  {
    id: "name",
    header: HEADERS.name,
    grow: true,
    fixed: true,
    sortable: true,
    cell: ({ name }) => <Visible text={name} />,
    text: ({ name }) => name,
  },
  {
    id: "condition",
    header: HEADERS.condition,
    grow: true,
    wrap: true,
    cell: (alert) => <Visible text={conditionOf(alert)} />,
    text: conditionOf,
  },
  {
    id: "value",
    header: HEADERS.value,
    width: 125,
    align: "end",
    sortable: true,
    cell: ({ value }) => valueText(value),
    text: ({ value }) => value,
  },
  {
    id: "checked",
    header: HEADERS.checked,
    width: 130,
    sortable: true,
    cell: ({ last_checked_at: at }) => <Time at={at} />,
    text: ({ last_checked_at: at }) => (at === null ? null : new Date(at)),
  },
  {
    id: "schedule",
    header: HEADERS.schedule,
    width: 130,
    cell: ({ check_every_s: seconds }) => words.every(seconds),
    text: ({ check_every_s: seconds }) => words.every(seconds),
  },
];
