import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { toastError } from "@/ui/Toast";
import { type Definition, definitionMarksQuery, definitionQuery, eventsKey } from "./queries";

type Marks = { hidden: boolean; verified: boolean };

/** Changes are shown before the server has them: it can only agree. */
export function useDefinitionChanges(definition: Definition) {
  const projectId = useProjectId();
  const queries = useQueryClient();
  const params = { path: { project_id: projectId, id: definition.id } };
  const shown = definitionQuery(projectId, definition.id).queryKey;
  const shownMarks = definitionMarksQuery(projectId, definition.id).queryKey;
  const renew = () => queries.invalidateQueries({ queryKey: eventsKey(projectId) });

  const change = useMutation({
    mutationFn: (changes: { tags?: string[]; post_to_chat?: boolean }) =>
      dataOf(
        api.PATCH("/api/projects/{project_id}/event_definitions/{id}/", {
          params,
          body: changes,
        }),
      ),
    onMutate: (changes) => {
      queries.setQueryData(shown, (old) => old && { ...old, ...changes });
    },
    onError: toastError,
    onSettled: renew,
  });
  const mark = useMutation({
    mutationFn: (marks: Marks) =>
      dataOf(
        api.PATCH("/api/projects/{project_id}/event_definitions/{id}/marks/", {
          params,
          body: marks,
        }),
      ),
    onMutate: (marks) => {
      queries.setQueryData(shownMarks, marks);
    },
    onError: toastError,
    onSettled: renew,
  });
  return { change, mark };
}
