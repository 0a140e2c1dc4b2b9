import type { Interval } from "@/charts";
import { beginOf } from "@/insights/kinds/trends/lines";
import { entriesOf } from "@/lib/trends";
import { words } from "@/words/insightsFunnels";
import type { Asked } from "../kind";
import { labelOf, type Value } from "./steps";

/** The share of persons who converted, by when they entered. */
export interface Conversion {
  /** Unique in the answer. */
  key: string;
  name: string;
  value: Value | undefined;
  days: readonly string[];
  /** 0 to 100 */
  values: readonly number[];
}

const SECONDS: Record<Interval, number> = {
  minute: 60,
  hour: 3600,
  day: 86_400,
  week: 604_800,
  month: 2_678_400,
};

export function readConversions({ question, answer }: Asked) {
  const lines = entriesOf(answer.results).map((entry): Conversion => {
    const value = entry.breakdown_value as Value | undefined;
    return {
      key: JSON.stringify(value ?? null),
      name: value === undefined ? words.converted : labelOf(value),
      value,
      days: (entry.days as string[] | undefined) ?? [],
      values: (entry.data as number[] | undefined) ?? [],
    };
  });
  const times = (lines[0]?.days ?? []).map((day) => beginOf(day, answer.zone));
  const last = times.at(-1)?.getTime() ?? 0;
  const isPartial = last + SECONDS[question.interval] * 1000 > answer.calculatedAt.getTime();
  return { lines, times, isPartial: times.length > 0 && isPartial };
}
