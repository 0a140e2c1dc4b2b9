import { type FigureData, intervalName } from "@/charts";
import { words } from "@/words/insightsRetention";
import type { Asked } from "../kind";
import { type Cohort, lengthOf, readCohorts, shareOf } from "./cohorts";
import { optionsOf, type RetentionOptions, spanOf } from "./options";
import { periodOf } from "./query";

/** The numbers of retention: one row per cohort, with as many values as are known. */
export function retentionTable({ question, answer }: Asked): FigureData {
  const options = optionsOf(question);
  const period = periodOf(question);
  const cohorts = readCohorts(answer, question);
  const places = Array.from({ length: Math.max(0, lengthOf(cohorts) - 1) }, (_, at) => at + 1);
  const isShare = options.format === "percentage";
  const nameOf = (place: number) => {
    const name = words.after(period, spanOf(options, place));
    return isShare ? words.inPercent(name) : name;
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

/** A value as shown: a percentage with one decimal, a count, or null if not known yet. */
export function shownValue(
  { counts }: Cohort,
  place: number,
  { format, reference }: RetentionOptions,
): number | null {
  if (format === "numeric") return counts[place] ?? null;
  const share = shareOf(counts, place, reference);
  return share === null ? null : Math.round(share * 10) / 10;
}
