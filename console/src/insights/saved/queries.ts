import { keepPreviousData, queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { ACTIVITY_PAGE } from "@/activity";
import { useProjectId } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import type { components } from "@/lib/schema";

export type Insight = components["schemas"]["InsightBody"];
export type InsightChanges = components["schemas"]["InsightChanges"];
export type NewInsight = components["schemas"]["NewInsight"];

const PAGE = 1000;
const FRESH_MS = 30_000;

export const insightKeys = {
  all: (projectId: string) => ["insights", projectId] as const,
  one: (projectId: string, id: number) => ["insights", projectId, "one", id] as const,
};

/** All insights of a project without results, so that search and filters are instant. */
export const insightsQuery = (projectId: string, deleted: boolean) =>
  queryOptions({
    queryKey: [...insightKeys.all(projectId), "list", deleted],
    queryFn: async ({ signal }) => {
      const found: Insight[] = [];
      let hasMore = true;
      while (hasMore) {
        const page = await dataOf(
          api.GET("/api/projects/{project_id}/insights/", {
            params: {
              path: { project_id: projectId },
              query: { limit: PAGE, offset: found.length, basic: true, deleted },
            },
            signal,
          }),
        );
        found.push(...page.results);
        hasMore = page.next !== null;
      }
      return found;
    },
    staleTime: FRESH_MS,
  });

export const insightQuery = (projectId: string, id: number) =>
  queryOptions({
    queryKey: insightKeys.one(projectId, id),
    queryFn: ({ signal }) => readInsight(projectId, id, signal),
  });

export const readInsight = (projectId: string, id: number, signal?: AbortSignal) =>
  dataOf(
    api.GET("/api/projects/{project_id}/insights/{id}/", {
      params: { path: { project_id: projectId, id } },
      ...(signal && { signal }),
    }),
  );

export const insightActivityQuery = (projectId: string, id: number, page: number) =>
  queryOptions({
    queryKey: [...insightKeys.all(projectId), "activity", id, page],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/insights/{id}/activity/", {
          params: {
            path: { project_id: projectId, id },
            query: { page, limit: ACTIVITY_PAGE },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });

/** Refetches everything about insights and dashboards except what was deleted. */
function useInsightsRefresh(): (changed?: Insight) => void {
  const projectId = useProjectId();
  const queries = useQueryClient();
  return (changed) => {
    const gone = changed?.deleted ? changed.id : undefined;
    void queries.invalidateQueries({
      queryKey: insightKeys.all(projectId),
      predicate: ({ queryKey }) => queryKey[2] !== "one" || queryKey[3] !== gone,
    });
    void queries.invalidateQueries({ queryKey: ["dashboards", projectId] });
  };
}

export function useInsightChange(id: number) {
  const projectId = useProjectId();
  const queries = useQueryClient();
  const refresh = useInsightsRefresh();
  return useMutation({
    mutationFn: (changes: InsightChanges) =>
      dataOf(
        api.PATCH("/api/projects/{project_id}/insights/{id}/", {
          params: { path: { project_id: projectId, id } },
          body: changes,
        }),
      ),
    onSuccess: (changed) => {
      queries.setQueryData(insightKeys.one(projectId, id), changed);
      refresh(changed);
    },
  });
}

export function useInsightCreation() {
  const projectId = useProjectId();
  const refresh = useInsightsRefresh();
  return useMutation({
    mutationFn: (body: NewInsight) =>
      dataOf(
        api.POST("/api/projects/{project_id}/insights/", {
          params: { path: { project_id: projectId } },
          body,
        }),
      ),
    onSuccess: () => refresh(),
  });
}
