import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import type { FetchOptions } from "openapi-fetch";
import { api, dataOf } from "@/lib/api";
import type { components, paths } from "@/lib/schema";
import { entriesOf } from "@/lib/trends";

type Asked = paths["/api/projects/{project_id}/insights/trend/"]["post"];
/** A question for numbers over time. */
export type TrendFilters = NonNullable<FetchOptions<Asked>["body"]>;

export interface TrendSeries {
  name: string;
  /** The value of the breakdown as the server names it; undefined without a breakdown. */
  value: string | undefined;
  /** Whether it is of the period before. */
  isPrevious: boolean;
  /** Days such as `2026-05-14`, of the time zone of the project. */
  days: readonly string[];
  values: readonly number[];
}

export interface Trend {
  days: readonly string[];
  series: readonly TrendSeries[];
  zone: string;
  /** Whether the last day is not over. */
  isPartial: boolean;
}

const FRESH_MS = 30_000;

/** A trend of the project's events, by day. */
export const trendQuery = (projectId: string, filters: TrendFilters) =>
  queryOptions({
    queryKey: ["trend", projectId, JSON.stringify(filters)],
    queryFn: async ({ signal }) =>
      readTrend(
        await dataOf(
          api.POST("/api/projects/{project_id}/insights/trend/", {
            params: { path: { project_id: projectId } },
            body: filters,
            signal,
          }),
        ),
      ),
    staleTime: FRESH_MS,
    placeholderData: keepPreviousData,
  });

/** Return what charts need from the response, whose entries the schema leaves open. */
export function readTrend({ result, timezone }: components["schemas"]["ResultBody"]): Trend {
  const entries = entriesOf(result);
  const series = entries.map((entry) => ({
    name: String(entry.label),
    value: entry.breakdown_value === undefined ? undefined : String(entry.breakdown_value),
    isPrevious: entry.compare_label === "previous",
    days: texts(entry.days),
    values: numbers(entry.data),
  }));
  return {
    days: series.find((one) => !one.isPrevious)?.days ?? [],
    series,
    zone: timezone,
    isPartial: entries.some((entry) => Number(entry.incomplete) > 0),
  };
}

const texts = (found: unknown): string[] =>
  Array.isArray(found) ? found.filter((one) => typeof one === "string") : [];
const numbers = (found: unknown): number[] =>
  Array.isArray(found) ? found.filter((one) => typeof one === "number") : [];
