import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, dataOf } from "@/lib/api";
import { everyRow, queryOf } from "@/lib/paging";
import type { components } from "@/lib/schema";
import { experimentKeys } from "../queries";

export type Plan = components["schemas"]["PlanBody"];
export type NewPlan = components["schemas"]["NewPlan"];
export type SavedMetric = components["schemas"]["SavedMetricRecord"];
export type Holdout = components["schemas"]["HoldoutRecord"];

const PAGE = 500;

/** How long an experiment takes to find a change. */
export const planQuery = (projectId: string, asked: NewPlan) =>
  queryOptions({
    queryKey: [...experimentKeys.all(projectId), "plan", JSON.stringify(asked)],
    queryFn: ({ signal }) =>
      dataOf(
        api.POST("/api/projects/{project_id}/experiments/plan/", {
          params: { path: { project_id: projectId } },
          body: asked,
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    retry: false,
  });

/** The flags that experiments can run with. */
export const eligibleFlagsQuery = (projectId: string) =>
  queryOptions({
    queryKey: [...experimentKeys.all(projectId), "eligible flags"],
    queryFn: async ({ signal }) => {
      const found = await dataOf(
        api.GET("/api/projects/{project_id}/experiments/eligible_feature_flags/", {
          params: { path: { project_id: projectId } },
          signal,
        }),
      );
      return found.results;
    },
  });

export const savedMetricsQuery = (projectId: string) =>
  queryOptions({
    queryKey: [...experimentKeys.all(projectId), "saved metrics"],
    queryFn: async ({ signal }) => {
      const metrics: SavedMetric[] = [];
      const read = (next: string | null) =>
        dataOf(
          api.GET("/api/projects/{project_id}/experiment_saved_metrics/", {
            params: { path: { project_id: projectId }, query: pageOf(next) },
            signal,
          }),
        );
      for await (const metric of everyRow(read)) metrics.push(metric);
      return metrics;
    },
  });

export const holdoutsQuery = (projectId: string) =>
  queryOptions({
    queryKey: [...experimentKeys.all(projectId), "holdouts"],
    queryFn: async ({ signal }) => {
      const holdouts: Holdout[] = [];
      const read = (next: string | null) =>
        dataOf(
          api.GET("/api/projects/{project_id}/experiment_holdouts/", {
            params: { path: { project_id: projectId }, query: pageOf(next) },
            signal,
          }),
        );
      for await (const holdout of everyRow(read)) holdouts.push(holdout);
      return holdouts;
    },
  });

const pageOf = (next: string | null) => {
  const { offset } = next === null ? {} : queryOf(next);
  return { limit: PAGE, ...(offset !== undefined && { offset: Number(offset) }) };
};
