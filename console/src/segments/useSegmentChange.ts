import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { bodyOf, type SegmentDraft } from "./draft";
import type { Segment } from "./queries";

function useSegmentsRefresh(): () => Promise<void> {
  const client = useQueryClient();
  const projectId = useProjectId();
  return async () => {
    await client.invalidateQueries({ queryKey: ["segments", projectId] });
    await client.invalidateQueries({ queryKey: [projectId, "segment-name"] });
  };
}

export function useSegmentCreation() {
  const projectId = useProjectId();
  const refresh = useSegmentsRefresh();
  return useMutation({
    mutationFn: (draft: SegmentDraft) =>
      dataOf(
        api.POST("/api/projects/{project_id}/segments/", {
          params: { path: { project_id: projectId } },
          body: bodyOf(draft),
        }),
      ),
    onSuccess: refresh,
  });
}

/** A change of the segment as it was read; it is refused if another was made since. */
export function useSegmentChange({ id, updated_at: version }: Segment) {
  const projectId = useProjectId();
  const refresh = useSegmentsRefresh();
  return useMutation({
    mutationFn: (body: Partial<ReturnType<typeof bodyOf>> & { deleted?: boolean }) =>
      dataOf(
        api.PATCH("/api/projects/{project_id}/segments/{id}/", {
          params: { path: { project_id: projectId, id } },
          body: { ...body, expected_updated_at: version },
        }),
      ),
    onSuccess: refresh,
  });
}
