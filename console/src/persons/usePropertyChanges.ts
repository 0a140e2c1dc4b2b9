import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { toast, toastError } from "@/ui/Toast";
import { words } from "@/words/persons";
import type { Person } from "./queries";

const WORDS = words.properties;

/** Sets and deletes properties of a person; each change can be taken back for ten seconds. */
export function usePropertyChanges(person: Person) {
  const projectId = useProjectId();
  const queries = useQueryClient();
  const params = { path: { project_id: projectId, id: person.id } };

  const refresh = () => queries.invalidateQueries({ queryKey: ["persons", projectId] });
  const put = async (name: string, value: unknown) => {
    await dataOf(
      api.PATCH("/api/projects/{project_id}/persons/{id}/", {
        params,
        body: { properties: { [name]: value } },
      }),
    );
    await refresh();
  };
  const unset = async (name: string) => {
    await dataOf(
      api.POST("/api/projects/{project_id}/persons/{id}/delete_property/", {
        params,
        body: { $unset: name },
      }),
    );
    await refresh();
  };
  const restore = (name: string, before: unknown) => () =>
    before === undefined ? unset(name) : put(name, before);

  const save = useMutation({
    mutationFn: ({ name, value }: { name: string; value: unknown }) => put(name, value),
    onSuccess: (_, { name }) =>
      toast({ text: WORDS.saved(name), undo: restore(name, person.properties[name]) }),
  });
  const remove = useMutation({
    mutationFn: unset,
    onSuccess: (_, name) =>
      toast({ text: WORDS.deleted(name), undo: restore(name, person.properties[name]) }),
    onError: toastError,
  });
  return { save, remove: remove.mutate };
}
