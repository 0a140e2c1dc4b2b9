import { type FigureData, intervalName } from "@/charts";
import { words } from "@/words/insightsRetention";
import type { Asked } from "../kind";
import { type Cohort, lengthOf, readCohorts, shareOf } from "./cohorts";
import { optionsOf, type RetentionOptions, showsValues, spanOf } from "./options";
import { periodOf } from "./query";

/** The numbers of retention: one row per cohort, with as many values as are known. */
export function retentionTable({ question, answer }: Asked): FigureData {
  const options = optionsOf(question);
  const period = periodOf(question);
  const cohorts = readCohorts(answer, question);
  const places = placesOf(cohorts, options);
  const nameOf = (place: number) => {
    const name = words.after(period, spanOf(options, place));
    return isNumber(place, options) ? name : words.inPercent(name);
  };
  const size = question.groupTypeIndex === undefined ? words.size : words.sizeOfGroups;
  return {
    columns: [words.began, size, ...places.map(nameOf)],
    rows: cohorts.map((cohort) => [
      nameOfRow(cohort, period, answer.zone),
      cohort.counts[0] ?? 0,
      ...places.map((place) => shownValue(cohort, place, options)),
    ]),
  };
}

export function nameOfRow(cohort: Cohort, period: Asked["question"]["interval"], zone: string) {
  const name = intervalName(cohort.begin, period, zone);
  return cohort.name === null ? name : words.ofValue(cohort.name, name);
}

/** The places after the number of persons. Without sums or averages the first is that number. */
export function placesOf(cohorts: readonly Cohort[], options: RetentionOptions): number[] {
  const length = lengthOf(cohorts);
  return Array.from({ length }, (_, place) => place).slice(showsValues(options) ? 0 : 1);
}

/** Whether a place shows a number, not a share: the first sum is what shares are of. */
export const isNumber = (place: number, { format }: RetentionOptions): boolean =>
  place === 0 || format === "numeric";

/** A value as shown: a percentage with one decimal, a number, or null if not known yet. */
export function shownValue(
  { numbers }: Cohort,
  place: number,
  options: RetentionOptions,
): number | null {
  if (isNumber(place, options)) return numbers[place] ?? null;
  const share = shareOf(numbers, place, options.reference);
  return share === null ? null : Math.round(share * 10) / 10;
}
