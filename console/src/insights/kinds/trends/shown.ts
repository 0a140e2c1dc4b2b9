import type { Question } from "@/insights/question/model";
import { isOfWeek, optionsOf, withOptions } from "./options";

/** Return the question without what its chart does not show: weekdays with hours have one series and no
 * breakdown, and persons are counted in each hour. */
export function shownQuestion(question: Question): Question {
  const { display } = optionsOf(question);
  if (!isOfWeek(display)) return question;
  const series = question.series.slice(0, 1).map((one) => {
    const isOfDays = one.math === "weekly_active" || one.math === "monthly_active";
    return isOfDays ? { ...one, math: "dau" as const } : one;
  });
  return withOptions({ ...question, series, breakdowns: [] }, { formulas: [], smoothing: 1 });
}
