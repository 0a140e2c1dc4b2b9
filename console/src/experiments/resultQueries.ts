import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import type { components } from "@/lib/schema";
import { experimentKeys } from "./queries";

export type Results = components["schemas"]["ResultsBody"];
export type MetricResult = Results["metrics"][number];
export type VariantResult = NonNullable<MetricResult["variants"]>[number];
export type Exposures = Results["exposures"];

const READ_EVERY_MS = 5 * 60_000;

/** phase: from 0; undefined: the last one */
export const phaseQuery = (projectId: string, id: number, phase: number | undefined) =>
  queryOptions({
    queryKey: [...experimentKeys.results(projectId, id), phase ?? "last"],
    queryFn: ({ signal }) => readResults(projectId, id, phase, false, signal),
    refetchInterval: READ_EVERY_MS,
  });

const readResults = (
  projectId: string,
  id: number,
  phase: number | undefined,
  refresh: boolean,
  signal?: AbortSignal,
) =>
  dataOf(
    api.GET("/api/projects/{project_id}/experiments/{id}/results/", {
      params: {
        path: { project_id: projectId, id },
        query: { ...(phase !== undefined && { phase }), ...(refresh && { refresh }) },
      },
      ...(signal && { signal }),
    }),
  );

/** Calculates all numbers again. */
export function useResultsRefresh(id: number, phase: number | undefined) {
  const projectId = useProjectId();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => readResults(projectId, id, phase, true),
    onSuccess: (results) =>
      queries.setQueryData(phaseQuery(projectId, id, phase).queryKey, results),
  });
}

/** Makes the cohort of all who are exposed, which is kept up to date. */
export function useExposureCohort(id: number) {
  const projectId = useProjectId();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () =>
      dataOf(
        api.POST(
          "/api/projects/{project_id}/experiments/{id}/create_exposure_cohort_for_experiment/",
          { params: { path: { project_id: projectId, id } } },
        ),
      ),
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: experimentKeys.one(projectId, id) });
    },
  });
}
