import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { toastError } from "@/ui/Toast";
import type { DetailChanges } from "./DetailFields";
import { type Definition, definitionQuery, eventsKey, type PropertyDefinition } from "./queries";

type Changes = DetailChanges & { post_to_chat?: boolean };

/** Changes are shown before the server has them: it can only agree. */
export function useDefinitionChanges(definition: Definition) {
  const projectId = useProjectId();
  const queries = useQueryClient();
  const shown = definitionQuery(projectId, definition.id).queryKey;
  return useMutation({
    mutationFn: (changes: Changes) =>
      dataOf(
        api.PATCH("/api/projects/{project_id}/event_definitions/{id}/", {
          params: { path: { project_id: projectId, id: definition.id } },
          body: changes,
        }),
      ),
    onMutate: (changes) => {
      queries.setQueryData(shown, (old) => old && { ...old, ...shownChanges(changes) });
    },
    onError: toastError,
    onSettled: () => queries.invalidateQueries({ queryKey: eventsKey(projectId) }),
  });
}

export function usePropertyChanges(definition: PropertyDefinition) {
  const projectId = useProjectId();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (changes: DetailChanges) =>
      dataOf(
        api.PATCH("/api/projects/{project_id}/property_definitions/{id}/", {
          params: { path: { project_id: projectId, id: definition.id } },
          body: changes,
        }),
      ),
    onError: toastError,
    onSettled: () => queries.invalidateQueries({ queryKey: ["properties", projectId] }),
  });
}

/** The fields that the server answers as they were sent; each mark takes the place of the other. */
function shownChanges({ owner: _, ...changes }: Changes) {
  return {
    ...changes,
    ...(changes.hidden && { verified: false }),
    ...(changes.verified && { hidden: false }),
  };
}
