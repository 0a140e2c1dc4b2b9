import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import type { TrendFilters } from "@/insights";
import { api, dataOf } from "@/lib/api";
import type { components } from "@/lib/schema";
import { type DateRange, datesOf, type Period } from "@/ui/ranges";
import { flagKeys } from "../queries";
import { propertyOf } from "../questions";

export type Usage = components["schemas"]["UsageBody"];
export type ByValue = components["schemas"]["ByValue"];
const FRESH_MS = 30_000;

export const usageQuery = (projectId: string, flagId: number, range: DateRange) =>
  queryOptions({
    queryKey: [...flagKeys.all(projectId), "usage", flagId, range],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/feature_flags/{id}/usage/", {
          params: {
            path: { project_id: projectId, id: flagId },
            query: datesOf(range),
          },
          signal,
        }),
      ),
    staleTime: FRESH_MS,
    placeholderData: keepPreviousData,
  });

/** Events that carry the flag's value, by value. */
export const eventsTrend = (key: string, period: Period): TrendFilters => ({
  ...byValue(propertyOf(key), period),
  events: [{ id: null }],
  properties: [{ type: "event", key: propertyOf(key), operator: "is_set" }],
});

/** Calls that SDKs report, by the value that the application got. */
export const callsTrend = (key: string, period: Period): TrendFilters => ({
  ...byValue("$feature_flag_response", period),
  events: [{ id: "$feature_flag_called" }],
  properties: [{ type: "event", key: "$feature_flag", operator: "exact", value: key }],
});

const byValue = (breakdown: string, { range, isCompared }: Period): TrendFilters => ({
  insight: "TRENDS",
  breakdown,
  breakdown_type: "event",
  interval: "day",
  ...datesOf(range),
  ...(isCompared && { compare: true }),
});

export const dashboardQuery = (projectId: string, dashboardId: number) =>
  queryOptions({
    queryKey: ["dashboards", projectId, dashboardId],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/dashboards/{id}/", {
          params: { path: { project_id: projectId, id: dashboardId } },
          signal,
        }),
      ),
    staleTime: FRESH_MS,
  });

const flagPath = (projectId: string, flagId: number) => ({
  params: { path: { project_id: projectId, id: flagId } },
});

export const createDashboard = (projectId: string, flagId: number) =>
  dataOf(
    api.POST(
      "/api/projects/{project_id}/feature_flags/{id}/dashboard/",
      flagPath(projectId, flagId),
    ),
  );

export const enrichDashboard = (projectId: string, flagId: number) =>
  dataOf(
    api.POST(
      "/api/projects/{project_id}/feature_flags/{id}/enrich_usage_dashboard/",
      flagPath(projectId, flagId),
    ),
  );
