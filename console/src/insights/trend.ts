import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import type { FetchOptions } from "openapi-fetch";
import { daysOf, isPartial, type Line, readLines } from "@/insights/kinds/trends/lines";
import { api, dataOf } from "@/lib/api";
import type { components, paths } from "@/lib/schema";

type Asked = paths["/api/projects/{project_id}/insights/trend/"]["post"];
/** A question for numbers over time. */
export type TrendFilters = NonNullable<FetchOptions<Asked>["body"]>;

export interface Trend {
  days: readonly string[];
  series: readonly Line[];
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

/** Return what charts need from the response. */
export function readTrend({ result, timezone }: components["schemas"]["ResultBody"]): Trend {
  const lines = readLines(result);
  return { days: daysOf(lines), series: lines, zone: timezone, isPartial: isPartial(lines) };
}
