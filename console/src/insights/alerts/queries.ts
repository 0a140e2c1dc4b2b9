import { keepPreviousData, queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import type { components } from "@/lib/schema";

export type Alert = components["schemas"]["AlertBody"];
export type AlertCheck = components["schemas"]["AlertCheck"];
export type AlertPreview = components["schemas"]["AlertPreview"];
export type AlertRule = components["schemas"]["PreviewedAlert"];
export type Condition = Alert["condition"];
type NewAlert = components["schemas"]["NewAlert"];
type AlertChanges = components["schemas"]["AlertChanges"];

// As many checks as are kept, and more alerts than a project can have.
const ALL = 1000;
const FRESH_MS = 30_000;
// How soon a new alert shows the outcome of its first check.
const UNCHECKED_MS = 2_000;

const keyOf = (projectId: string) => ["alerts", projectId] as const;

/** All alerts of a project, read again until each has been checked. */
export const alertsQuery = (projectId: string) =>
  queryOptions({
    queryKey: [...keyOf(projectId), "list"],
    queryFn: async ({ signal }) => {
      const page = await dataOf(
        api.GET("/api/projects/{project_id}/alerts/", {
          params: { path: { project_id: projectId }, query: { limit: ALL } },
          signal,
        }),
      );
      return page.results;
    },
    refetchInterval: ({ state }) => (state.data?.some(isWaiting) ? UNCHECKED_MS : FRESH_MS),
    staleTime: UNCHECKED_MS,
  });

const isWaiting = ({ enabled, state }: Alert): boolean => enabled && state === "not_checked";

/** What a check would say now. */
export interface Preview {
  rule: AlertRule;
  answer: AlertPreview;
}

/** What a check of a rule would say now; until it is known, the answer to the rule before. */
export const previewQuery = (projectId: string, rule: AlertRule) =>
  queryOptions({
    queryKey: [...keyOf(projectId), "preview", rule],
    queryFn: async ({ signal }): Promise<Preview> => ({
      rule,
      answer: await dataOf(
        api.POST("/api/projects/{project_id}/alerts/preview/", {
          params: { path: { project_id: projectId } },
          body: rule,
          signal,
        }),
      ),
    }),
    placeholderData: keepPreviousData,
    staleTime: FRESH_MS,
    retry: false,
  });

/** All checks of an alert that are kept, newest first; read again after each check. */
export const checksQuery = (projectId: string, { id, last_checked_at }: Alert) =>
  queryOptions({
    queryKey: [...keyOf(projectId), "checks", id, last_checked_at],
    queryFn: async ({ signal }) => {
      const page = await dataOf(
        api.GET("/api/projects/{project_id}/alerts/{id}/checks/", {
          params: { path: { project_id: projectId, id }, query: { limit: ALL } },
          signal,
        }),
      );
      return page.results;
    },
    placeholderData: keepPreviousData,
  });

/** The address of an alert. */
export const hrefOfAlert = (projectId: string, { id, insight }: Alert): string =>
  `/project/${projectId}/insights/${insight}?tab=alerts&alert=${id}`;

function useAlertAct<Given, Answer>(act: (projectId: string, given: Given) => Promise<Answer>) {
  const queries = useQueryClient();
  const projectId = useProjectId();
  return useMutation({
    mutationFn: (given: Given) => act(projectId, given),
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: ["home", projectId, "problems"] });
      return queries.invalidateQueries({ queryKey: [...keyOf(projectId), "list"] });
    },
  });
}

export const useAlertCreation = () =>
  useAlertAct((project_id, body: NewAlert) =>
    dataOf(
      api.POST("/api/projects/{project_id}/alerts/", { params: { path: { project_id } }, body }),
    ),
  );

export const useAlertChange = (id: number) =>
  useAlertAct((project_id, body: AlertChanges) =>
    dataOf(
      api.PATCH("/api/projects/{project_id}/alerts/{id}/", {
        params: { path: { project_id, id } },
        body,
      }),
    ),
  );

export const useAlertDeletion = (id: number) =>
  useAlertAct((project_id, _: undefined) =>
    dataOf(
      api.DELETE("/api/projects/{project_id}/alerts/{id}/", {
        params: { path: { project_id, id } },
      }),
    ),
  );
