import type { Trend, TrendFilters } from "@/insights";
import type { components } from "@/lib/schema";
import { words } from "@/words/flagRollout";
import { isObject, isObjects } from "../model";
import type { FlagChanges } from "../queries";

type Sent = NonNullable<FlagChanges["rollback_conditions"]>;
type Written = components["schemas"]["RollbackCondition"];

export const MATHS = ["total", "dau"] as const;
export const OPERATORS = ["gt", "lt"] as const;

/** A condition that the editor knows whole. event: null for any */
export interface Rollback {
  event: string | null;
  math: (typeof MATHS)[number];
  operator: (typeof OPERATORS)[number];
  threshold: number;
}

/** A stored condition; `read` is null if the editor does not know all of it. */
export interface StoredRollback {
  raw: unknown;
  read: Rollback | null;
  /** The filters of its trend; null if it has none. */
  metric: TrendFilters | null;
  threshold: number;
  isBelow: boolean;
}

const TEXTS = words.rollback;

/** A single condition counts as a list of one. */
export function storedRollbacks(found: unknown): StoredRollback[] {
  const list = Array.isArray(found) ? found : isObject(found) && hasAny(found) ? [found] : [];
  return list.map((raw) => ({ raw, ...readStored(raw) }));
}

function readStored(raw: unknown): Omit<StoredRollback, "raw"> {
  const nothing = { read: null, metric: null, threshold: 0, isBelow: false };
  if (!isWritten(raw)) return nothing;
  const { threshold, operator, threshold_metric: metric } = raw;
  return {
    read: readPlain(raw),
    metric: { ...metric, date_from: "-13d", date_to: null, interval: "day", display: null },
    threshold,
    isBelow: operator === "lt",
  };
}

interface Known {
  threshold: number;
  operator: (typeof OPERATORS)[number];
  threshold_metric: TrendFilters;
}

/** Return whether the condition has the form that the API accepts now. The server checks the rest. */
function isWritten(found: unknown): found is Known {
  return (
    isObject(found) &&
    found.threshold_type === "insight" &&
    typeof found.threshold === "number" &&
    (found.operator === "gt" || found.operator === "lt") &&
    isObject(found.threshold_metric) &&
    isObjects(found.threshold_metric.events)
  );
}

const KNOWN_OF_METRIC = new Set(["insight", "events"]);
const KNOWN_OF_EVENT = new Set(["id", "name", "type", "math", "order"]);

function readPlain({ threshold, operator, threshold_metric: metric }: Known): Rollback | null {
  const events: unknown = metric.events;
  if (!isObjects(events) || events.length !== 1 || !has(metric, KNOWN_OF_METRIC)) return null;
  const [event] = events;
  if (event === undefined || !has(event, KNOWN_OF_EVENT)) return null;
  const { id, math = "total" } = event;
  if (typeof id !== "string" && id !== null) return null;
  const known = MATHS.find((one) => one === (math ?? "total"));
  return known === undefined ? null : { event: id, math: known, operator, threshold };
}

const has = (found: object, known: ReadonlySet<string>): boolean =>
  Object.keys(found).every((name) => known.has(name));
const hasAny = (found: object): boolean => Object.keys(found).length > 0;

export function writeRollback({ event, math, operator, threshold }: Rollback): Written {
  return {
    threshold_type: "insight",
    threshold,
    operator,
    threshold_metric: { insight: "TRENDS", events: [{ id: event, math }] },
  };
}

/** A condition that equals a stored one is not checked, so that old ones can be kept. */
export function conditionsToSend(conditions: readonly unknown[]): Sent {
  if (!isSendable(conditions)) throw new Error(TEXTS.unknown);
  return conditions;
}

const isSendable = (found: readonly unknown[]): found is Extract<Sent, unknown[]> =>
  found.every(isObject);

/** "Off when there are more than 30 “checkout failed” events per day" */
export function rollbackSentence({ event, math, operator, threshold }: Rollback): string {
  const name = event ?? TEXTS.anyEvent;
  const what = math === "dau" ? TEXTS.people(name) : TEXTS.events(name);
  return TEXTS.sentence(what, operator === "lt", threshold);
}

export function nameOfRollback({ read, metric }: StoredRollback): string {
  const events: unknown = metric?.events;
  const id = isObjects(events) ? events[0]?.id : undefined;
  return read?.event ?? (typeof id === "string" ? id : TEXTS.anyEvent);
}

const AVERAGED_DAYS = 7;

/** Per day, of the first series over the last seven days, as the server averages. */
export function averageOf({ series }: Trend): number {
  const last = (series[0]?.values ?? []).slice(-AVERAGED_DAYS);
  return last.reduce((sum, value) => sum + value, 0) / AVERAGED_DAYS;
}
