import type { FigureData } from "@/charts";
import type { Asked, Place } from "@/insights/kinds/kind";
import { isObject } from "@/insights/question/reading";
import { entriesOf } from "@/lib/trends";
import { words as trendWords } from "@/words/insightsTrends";
import { words } from "@/words/insightsWeek";

export const DAYS = [1, 2, 3, 4, 5, 6, 7] as const;
export const HOURS = Array.from({ length: 24 }, (_, hour) => hour);

/** The numbers of a trend by weekday and hour. undefined: all days, or all hours */
export interface Week {
  name: string;
  at: (weekday: number | undefined, hour: number | undefined) => number;
}

/** Parse the numbers of an answer, whose rows are weekdays from Monday and columns hours. */
export function readWeek({ answer }: Asked): Week | null {
  const [entry] = entriesOf(answer.results);
  const given = entry?.calendar_heatmap_data;
  if (!isObject(given)) return null;
  const numbers = new Map<string, number>([[keyOf(), Number(given.allAggregations)]]);
  for (const list of [given.data, given.rowAggregations, given.columnAggregations])
    for (const one of Array.isArray(list) ? list : [])
      numbers.set(keyOf(one.row, one.column), Number(one.value));
  return {
    name: String(entry?.label),
    at: (weekday, hour) => numbers.get(keyOf(weekday, hour)) ?? 0,
  };
}

const keyOf = (weekday?: number, hour?: number): string => `${weekday ?? ""} ${hour ?? ""}`;

/** One row per weekday, and one for all days. */
export function weekTable(asked: Asked): FigureData {
  const week = readWeek(asked);
  return {
    columns: [words.weekday, ...HOURS.map(words.hour), words.allHours],
    rows: [...DAYS, undefined].map((weekday) => [
      words.nameOfDay(weekday),
      ...[...HOURS, undefined].map((hour) => week?.at(weekday, hour) ?? 0),
    ]),
  };
}

/** Where a number stands: "Monday, 9:00 to 10:00". */
export const whenOf = (weekday: number | undefined, hour: number | undefined): string =>
  trendWords.at(words.nameOfDay(weekday), hour === undefined ? words.allHours : words.hours(hour));

export const weekPlace = (weekday: number | undefined, hour: number | undefined): Place => ({
  entity_order: 0,
  ...(weekday !== undefined && { weekday }),
  ...(hour !== undefined && { hour }),
});

/** The number at a place, which may come from a URL. */
export function weekNumber(asked: Asked, place: Place): { when: string; value: number } | null {
  const [weekday, hour] = [place.weekday, place.hour].map((one) =>
    one === undefined ? undefined : Number(one),
  );
  const week = readWeek(asked);
  if (week === null) return null;
  return { when: whenOf(weekday, hour), value: week.at(weekday, hour) };
}
