import { useMutation } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import type { components } from "@/lib/schema";
import { type ListedExperiment, useExperimentsRefresh } from "../queries";

export type Conclusion = components["schemas"]["Conclusion"];
export type ShippedVariant = components["schemas"]["ShippedVariant"];
export type ExperimentCopy = components["schemas"]["ExperimentCopy"];

const at = (projectId: string, id: number) => ({ path: { project_id: projectId, id } });

/** Does something to an experiment, and reads it and all that is shown of it again. */
function useChange<T>(change: (projectId: string, sent: T) => Promise<ListedExperiment>) {
  const projectId = useProjectId();
  const refresh = useExperimentsRefresh();
  return useMutation({
    mutationFn: (sent: T) => change(projectId, sent),
    onSettled: () => {
      void refresh();
    },
  });
}

export const useEnd = (id: number) =>
  useChange((projectId, body: Conclusion) =>
    dataOf(
      api.POST("/api/projects/{project_id}/experiments/{id}/end/", {
        params: at(projectId, id),
        body,
      }),
    ),
  );

export const useShip = (id: number) =>
  useChange((projectId, body: ShippedVariant) =>
    dataOf(
      api.POST("/api/projects/{project_id}/experiments/{id}/ship_variant/", {
        params: at(projectId, id),
        body,
      }),
    ),
  );

export const useCopy = (id: number) =>
  useChange((projectId, body: ExperimentCopy) =>
    dataOf(
      api.POST("/api/projects/{project_id}/experiments/{id}/duplicate/", {
        params: at(projectId, id),
        body,
      }),
    ),
  );
