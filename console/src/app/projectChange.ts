import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type Project, projectsQuery } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import type { components } from "@/lib/schema";
import { toast } from "@/ui/Toast";

type Changes = components["schemas"]["ProjectChanges"];

/** Puts a changed project in the place of the former one. */
export function useReplaced(): (changed: Project) => void {
  const queries = useQueryClient();
  return (changed) => {
    queries.setQueryData(projectsQuery.queryKey, (before) =>
      before?.map((one) => (one.id === changed.id ? changed : one)),
    );
    void queries.invalidateQueries({ queryKey: ["me"] });
  };
}

/** Changes a project.
 *
 * said: the notification that it was; undefined for none
 */
export function useProjectChange(project: Project, said?: string) {
  const replaced = useReplaced();
  return useMutation({
    mutationFn: (body: Changes) =>
      dataOf(
        api.PATCH("/api/projects/{project_id}/", {
          params: { path: { project_id: String(project.id) } },
          body,
        }),
      ),
    onSuccess: (changed) => {
      replaced(changed);
      if (said !== undefined) toast({ text: said });
    },
  });
}
