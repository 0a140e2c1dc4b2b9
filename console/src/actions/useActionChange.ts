import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { type ActionDraft, bodyOf } from "./draft";
import type { Action } from "./queries";

export function useActionsRefresh(): () => Promise<void> {
  const client = useQueryClient();
  const projectId = useProjectId();
  return () => client.invalidateQueries({ queryKey: ["actions", projectId] });
}

export function useCreation() {
  const projectId = useProjectId();
  const refresh = useActionsRefresh();
  return useMutation({
    mutationFn: (draft: ActionDraft) =>
      dataOf(
        api.POST("/api/projects/{project_id}/actions/", {
          params: { path: { project_id: projectId } },
          body: bodyOf(draft),
        }),
      ),
    onSuccess: refresh,
  });
}

/** A change of the action as it was read; it is refused if another was made since. */
export function useActionChange({ id, updated_at: version }: Action) {
  const projectId = useProjectId();
  const refresh = useActionsRefresh();
  return useMutation({
    mutationFn: (body: Partial<ReturnType<typeof bodyOf>> & { deleted?: boolean }) =>
      dataOf(
        api.PATCH("/api/projects/{project_id}/actions/{id}/", {
          params: { path: { project_id: projectId, id } },
          body: { ...body, expected_updated_at: version },
        }),
      ),
    onSuccess: refresh,
  });
}
