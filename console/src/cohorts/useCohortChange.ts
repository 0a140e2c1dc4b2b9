import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import type { components } from "@/lib/schema";

export type CohortFields = components["schemas"]["CohortFields"];

/** Everything that is shown of cohorts is asked for anew. */
export function useCohortsRefresh(): () => Promise<void> {
  const projectId = useProjectId();
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: ["cohorts", projectId] });
}

export function useCohortChange(cohortId: number) {
  const projectId = useProjectId();
  const refresh = useCohortsRefresh();
  return useMutation({
    mutationFn: (fields: CohortFields) =>
      dataOf(
        api.PATCH("/api/projects/{project_id}/cohorts/{id}/", {
          params: { path: { project_id: projectId, id: cohortId } },
          body: fields,
        }),
      ),
    onSuccess: refresh,
  });
}
