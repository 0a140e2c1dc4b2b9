import { withKindOptions } from "@/insights/question/kindOptions";
import type { Question } from "@/insights/question/model";
import { joined, Reading } from "@/insights/question/reading";
import type { Given } from "@/lib/searchParams";

/** The status of a person in an interval. */
export const STATUSES = ["new", "returning", "resurrecting", "dormant"] as const;
export type Status = (typeof STATUSES)[number];

export const PLACE = "lifecycleFilter";
// Display options of other clients, ignored here.
const DRAWN = ["showLegend", "showValuesOnSeries", "stacked"];

/** Return the statuses that a `lifecycleFilter` shows, in order. */
export function readOptions(given: Given, reading: Reading = new Reading()): readonly Status[] {
  reading.known(PLACE, given, ["toggledLifecycles", ...DRAWN]);
  const place = joined(PLACE, "toggledLifecycles");
  const chosen = reading
    .list(place, given.toggledLifecycles)
    .flatMap((one) => reading.choice(place, one, STATUSES) ?? []);
  return chosen.length === 0 ? STATUSES : STATUSES.filter((one) => chosen.includes(one));
}

export const writeOptions = (shown: readonly Status[]): Given =>
  shown.length === STATUSES.length ? {} : { toggledLifecycles: shown };

export const optionsOf = ({ options }: Question): readonly Status[] =>
  readOptions(options.lifecycle ?? {});

/** Return the question with a status shown or hidden. The last one cannot be hidden. */
export function toggled(question: Question, status: Status): Question {
  const shown = optionsOf(question);
  const next = STATUSES.filter((one) => (one === status) !== shown.includes(one));
  return next.length === 0 ? question : withKindOptions(question, "lifecycle", writeOptions(next));
}
