import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import type { components } from "@/lib/schema";

export type BatchExport = components["schemas"]["BatchExportBody"];
export type Run = components["schemas"]["BatchExportRun"];
export type NewBatchExport = components["schemas"]["NewBatchExport"];
export type BatchExportChanges = components["schemas"]["BatchExportChanges"];

const PAGE = 100;
const AGAIN_MS = 10_000;

const keyOf = (projectId: string) => ["batch exports", projectId] as const;

/** All exports of a project, of which there are few, read again every few seconds. */
export const exportsQuery = (projectId: string) =>
  queryOptions({
    queryKey: keyOf(projectId),
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/batch_exports/", {
          params: { path: { project_id: projectId }, query: { limit: PAGE } },
          signal,
        }),
      ),
    refetchInterval: AGAIN_MS,
  });

export const runsQuery = (projectId: string, id: number) =>
  queryOptions({
    queryKey: [...keyOf(projectId), id, "runs"],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/batch_exports/{id}/runs/", {
          params: { path: { project_id: projectId, id }, query: { limit: PAGE } },
          signal,
        }),
      ),
    refetchInterval: AGAIN_MS,
  });

function useAct<Given, Answer>(act: (project_id: string, given: Given) => Promise<Answer>) {
  const queries = useQueryClient();
  const projectId = useProjectId();
  return useMutation({
    mutationFn: (given: Given) => act(projectId, given),
    onSettled: () => queries.invalidateQueries({ queryKey: keyOf(projectId) }),
  });
}

export const useExportCreation = () =>
  useAct((project_id, body: NewBatchExport) =>
    dataOf(
      api.POST("/api/projects/{project_id}/batch_exports/", {
        params: { path: { project_id } },
        body,
      }),
    ),
  );

export const useExportChange = (id: number) =>
  useAct((project_id, body: BatchExportChanges) =>
    dataOf(
      api.PATCH("/api/projects/{project_id}/batch_exports/{id}/", {
        params: { path: { project_id, id } },
        body,
      }),
    ),
  );

export const usePause = (id: number) =>
  useAct((project_id, _: undefined) =>
    dataOf(
      api.POST("/api/projects/{project_id}/batch_exports/{id}/pause/", {
        params: { path: { project_id, id } },
      }),
    ),
  );

export const useUnpause = (id: number) =>
  useAct((project_id, backfill: boolean) =>
    dataOf(
      api.POST("/api/projects/{project_id}/batch_exports/{id}/unpause/", {
        params: { path: { project_id, id } },
        body: { backfill },
      }),
    ),
  );

export const useBackfill = (id: number) =>
  useAct((project_id, start_at: string) =>
    dataOf(
      api.POST("/api/projects/{project_id}/batch_exports/{id}/backfills/", {
        params: { path: { project_id, id } },
        body: { start_at },
      }),
    ),
  );

export const useExportDeletion = (id: number) =>
  useAct((project_id, _: undefined) =>
    dataOf(
      api.DELETE("/api/projects/{project_id}/batch_exports/{id}/", {
        params: { path: { project_id, id } },
      }),
    ),
  );
