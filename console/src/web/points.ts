import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { isObject, type Trend, type TrendSeries } from "@/insights";
import { type Answer, ask, type Question } from "./queries";

const FRESH_MS = 30_000;

/** A figure of sessions over time, in the shape of a trend. */
export const pointsQuery = (projectId: string, question: Question) =>
  queryOptions({
    queryKey: ["trend", projectId, JSON.stringify(question)],
    queryFn: async ({ signal }) => readPoints(await ask(projectId, question, "recent", signal)),
    staleTime: FRESH_MS,
    placeholderData: keepPreviousData,
  });

/** Return a trend with a line for the period, and one for the period before if they are compared. */
function readPoints({ results, zone, unfinished }: Answer): Trend {
  const points = (Array.isArray(results) ? results : []).filter(isObject);
  const days = points.map(({ bucket }) => String(bucket));
  const pairs = points.map(({ metrics }) => Object.values(isObject(metrics) ? metrics : {})[0]);
  const isCompared = pairs.some(Array.isArray);
  const series = (isCompared ? [0, 1] : [0]).map((place) =>
    lineOf(
      days,
      pairs.map((pair) => Number((Array.isArray(pair) ? pair[place] : pair) ?? 0)),
      place === 1,
    ),
  );
  return { days, series, zone, isPartial: unfinished > 0 };
}

const lineOf = (
  days: readonly string[],
  values: readonly number[],
  isPrevious: boolean,
): TrendSeries => ({
  key: isPrevious ? "-" : "+",
  name: "sessions",
  order: 0,
  isFormula: false,
  value: undefined,
  isPrevious,
  compare: true,
  days,
  values,
  total: undefined,
  unfinished: 0,
});
