import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import type { FetchOptions } from "openapi-fetch";
import { api, dataOf } from "@/lib/api";
import type { components, paths } from "@/lib/schema";
import { flagKeys } from "../queries";
import { readTrend } from "./trend";

export type Usage = components["schemas"]["UsageBody"];
export type ByValue = components["schemas"]["ByValue"];
type Trend = paths["/api/projects/{project_id}/insights/trend/"];
/** A question for numbers over time. */
export type TrendFilters = NonNullable<FetchOptions<Trend["post"]>["body"]>;

export const RANGES = ["-7d", "-30d", "-90d"] as const;
export type Range = (typeof RANGES)[number];

const FRESH_MS = 30_000;

export const usageQuery = (projectId: string, flagId: number, range: Range) =>
  queryOptions({
    queryKey: [...flagKeys.all(projectId), "usage", flagId, range],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/feature_flags/{id}/usage/", {
          params: {
            path: { project_id: projectId, id: flagId },
            query: { date_from: range },
          },
          signal,
        }),
      ),
    staleTime: FRESH_MS,
    placeholderData: keepPreviousData,
  });

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

/** The property in which SDKs send a flag's value with every event. */
export const propertyOf = (key: string): string => `$feature/${key}`;

export const eventsTrend = (key: string, range: Range): TrendFilters => ({
  insight: "TRENDS",
  events: [{ id: null }],
  properties: [{ type: "event", key: propertyOf(key), operator: "is_set" }],
  breakdown: propertyOf(key),
  breakdown_type: "event",
  date_from: range,
  interval: "day",
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
