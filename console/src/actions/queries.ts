import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, dataOf } from "@/lib/api";
import type { components } from "@/lib/schema";
import type { NamedItemsSearch } from "@/namedItems";

export type Action = components["schemas"]["ActionBody"];

const CHOICES_MAX = 50;
/** A project has no more. */
const ALL_MAX = 500;
const DAYS = 30;

/** Actions to choose from, by a part of their names. */
export const readActions = (projectId: string, search: string, signal: AbortSignal) =>
  dataOf(
    api.GET("/api/projects/{project_id}/actions/", {
      params: {
        path: { project_id: projectId },
        query: { limit: CHOICES_MAX, ...(search && { search }) },
      },
      signal,
    }),
  );

export const actionsQuery = (projectId: string, { q, deleted }: NamedItemsSearch) =>
  queryOptions({
    queryKey: ["actions", projectId, "list", q, deleted],
    queryFn: async ({ signal }) => {
      const query = {
        limit: ALL_MAX,
        ...(q !== undefined && { search: q }),
        ...(deleted !== undefined && { deleted }),
      };
      const page = await dataOf(
        api.GET("/api/projects/{project_id}/actions/", {
          params: { path: { project_id: projectId }, query },
          signal,
        }),
      );
      return page.results;
    },
    placeholderData: keepPreviousData,
  });

export const actionQuery = (projectId: string, actionId: number) =>
  queryOptions({
    queryKey: ["actions", projectId, "one", actionId],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/actions/{id}/", {
          params: { path: { project_id: projectId, id: actionId } },
          signal,
        }),
      ),
  });

/** How many events belonged to the action in the last 30 days. */
export const countQuery = (projectId: string, { id, updated_at: version }: Action) =>
  queryOptions({
    // Not below "actions": a count is of one version, and that of a deleted action is refused.
    queryKey: ["action count", projectId, id, version],
    queryFn: async ({ signal }) => {
      const query = {
        kind: "TrendsQuery" as const,
        series: [{ kind: "ActionsNode", id }],
        dateRange: { date_from: `-${DAYS}d` },
        trendsFilter: { display: "BoldNumber" },
      };
      const answer = await dataOf(
        api.POST("/api/projects/{project_id}/query/", {
          params: { path: { project_id: projectId } },
          body: { query },
          signal,
        }),
      );
      return totalOf("results" in answer ? answer.results : undefined);
    },
  });

function totalOf(results: unknown): number {
  const first: unknown = Array.isArray(results) ? results[0] : undefined;
  const isEntry = typeof first === "object" && first !== null && "aggregated_value" in first;
  return isEntry ? Number(first.aggregated_value) : 0;
}
