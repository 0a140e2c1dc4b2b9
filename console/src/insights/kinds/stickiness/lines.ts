import type { Answer } from "@/insights/answers";
import type { Question } from "@/insights/question/model";
import { isObject } from "@/insights/question/reading";
import { namesOfSeries } from "@/insights/question/seriesName";
import type { Given } from "@/lib/searchParams";
import { entriesOf } from "@/lib/trends";
import { words } from "@/words/insightsStickiness";
import type { StickinessOptions } from "./options";

/** A series: how many persons did it in one interval, in two, and so on. */
export interface Line {
  key: string;
  name: string;
  order: number;
  isPrevious: boolean;
  counts: readonly number[];
  /** How many persons did it in any interval. */
  persons: number;
  /** The place of each number, by API names. The previous period uses its own dates. */
  places: readonly Given[];
}

export function readLines({ series }: Question, { results }: Answer): Line[] {
  const names = namesOfSeries(series);
  return entriesOf(results).map((entry): Line => {
    const order = isObject(entry.action) ? Number(entry.action.order ?? 0) : 0;
    const isPrevious = entry.compare_label === "previous";
    const name = names[order] ?? String(entry.label);
    return {
      key: `${isPrevious ? "-" : "+"}${order}`,
      name: isPrevious ? words.previous(name) : name,
      order,
      isPrevious,
      counts: list(entry.data).map(Number),
      persons: Number(entry.count ?? 0),
      places: list(entry.persons_urls).map((url) =>
        isObject(url) && isObject(url.filter) ? url.filter : {},
      ),
    };
  });
}

const list = (given: unknown): readonly unknown[] => (Array.isArray(given) ? given : []);

/** A number as shown: a count, or a percentage of everyone who did it, with one decimal. */
export function shownValue(
  { counts, persons }: Line,
  place: number,
  { format }: StickinessOptions,
) {
  const count = counts[place];
  if (count === undefined) return null;
  if (format === "numeric") return count;
  return persons === 0 ? 0 : Math.round((count / persons) * 1000) / 10;
}
