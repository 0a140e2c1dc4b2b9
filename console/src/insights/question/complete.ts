import { isComplete } from "@/filters";
import type { Question } from "./model";

/** Return the question without conditions and breakdowns that are still incomplete. */
export function completed(question: Question): Question {
  return {
    ...question,
    filters: question.filters.filter(isComplete),
    series: question.series.map((one) => ({ ...one, filters: one.filters.filter(isComplete) })),
    breakdowns: question.breakdowns.filter(({ property }) => property !== ""),
  };
}
