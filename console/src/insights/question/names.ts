import { type PropertyFilter, useFilterNames, useGroupTypes } from "@/filters";
import type { Question } from "./model";
import type { Names } from "./sentence";

/** The names of a question's cohorts and group types, as they are loaded. */
export function useNames(question: Question): Names {
  const needsTypes =
    question.groupTypeIndex !== undefined ||
    question.series.some(({ math }) => math === "unique_group") ||
    question.breakdowns.some(({ type }) => type === "group");
  const types = useGroupTypes(needsTypes);
  const shown = question.breakdowns.flatMap(({ type, property }): PropertyFilter[] =>
    type === "cohort" ? [{ type, key: "id", operator: "in", value: Number(property) }] : [],
  );
  const filters = [
    ...question.filters,
    ...question.series.flatMap((series) => series.filters),
    ...shown,
  ];
  return { ...useFilterNames(filters), groupType: (index) => types[index] ?? String(index) };
}
