import { type QueryClient, useMutation, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Download, Ellipsis, Merge, Trash2 } from "lucide-react";
import { useState } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { AskLink } from "@/insights";
import { api, dataOf } from "@/lib/api";
import { prefix } from "@/lib/prefix";
import { Button, IconButton } from "@/ui/Button";
import { ConfirmTyped } from "@/ui/ConfirmTyped";
import { Checkbox } from "@/ui/Field";
import { Menu, MenuItem } from "@/ui/Menu";
import { toast, toastError } from "@/ui/Toast";
import { words } from "@/words/persons";
import { MergeDialog } from "./MergeDialog";
import { emailOf, type Person, personQuery, typedName } from "./queries";

const route = getRouteApi("/signed-in/project/$projectId/persons/$personId");

export function PersonActions({ person }: { person: Person }) {
  const canEdit = useCanEdit();
  const projectId = useProjectId();
  const queries = useQueryClient();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const [isDeleting, setDeleting] = useState(false);
  const setMerge = (merge: string[] | undefined) => {
    const { merge: _, ...others } = search;
    void navigate({ search: merge === undefined ? others : { ...others, merge }, replace: true });
  };
  const email = emailOf(person);
  const hint = canEdit ? undefined : words.viewerHint;
  return (
    <>
      {email !== "" && <AskLink about={personQuestion(email)} />}
      <Button icon={Merge} disabled={!canEdit} title={hint} onClick={() => setMerge([])}>
        {words.merge.action}
      </Button>
      <Menu trigger={<IconButton icon={Ellipsis} label={words.more} look="default" />}>
        <MenuItem
          icon={Download}
          onSelect={() => void saveData(queries, projectId, person.id).catch(toastError)}
        >
          {words.saveData.action}
        </MenuItem>
        <MenuItem icon={Trash2} isDanger disabled={!canEdit} onSelect={() => setDeleting(true)}>
          {words.remove.action}
        </MenuItem>
      </Menu>
      <DeleteDialog person={person} isOpen={isDeleting} onClose={() => setDeleting(false)} />
      {search.merge !== undefined && canEdit && (
        <MergeDialog
          person={person}
          ids={search.merge}
          onChange={setMerge}
          onClose={() => setMerge(undefined)}
        />
      )}
    </>
  );
}

/** A question about what the person does each day. Conditions can match persons only by property. */
const personQuestion = (email: string) => ({
  series: [{ event: null }],
  properties: [{ type: "person", key: "email", operator: "exact", value: [email] }],
});

/** Lets the browser save the file while the server sends it: it may be larger than the memory. */
async function saveData(queries: QueryClient, projectId: string, personId: string): Promise<void> {
  // An error, such as the end of the session, would be saved as the file.
  await queries.fetchQuery({ ...personQuery(projectId, personId), staleTime: 0 });
  const link = document.createElement("a");
  link.href = `${prefix}/api/projects/${projectId}/persons/${personId}/export/`;
  link.download = "";
  link.click();
  toast({ text: words.saveData.started });
}

interface DeleteProps {
  person: Person;
  isOpen: boolean;
  onClose: () => void;
}

function DeleteDialog({ person, isOpen, onClose }: DeleteProps) {
  const projectId = useProjectId();
  const queries = useQueryClient();
  const navigate = route.useNavigate();
  const [withEvents, setWithEvents] = useState(false);
  const WORDS = words.remove;
  const remove = useMutation({
    mutationFn: () =>
      dataOf(
        api.DELETE("/api/projects/{project_id}/persons/{id}/", {
          params: {
            path: { project_id: projectId, id: person.id },
            query: { delete_events: withEvents },
          },
        }),
      ),
    onSuccess: async () => {
      toast({ text: WORDS.done(person.name) });
      await navigate({ to: "/project/$projectId/persons", params: { projectId } });
      queries.removeQueries({ queryKey: ["persons", projectId, "one", person.id] });
      await queries.invalidateQueries({ queryKey: ["persons", projectId] });
    },
  });
  return (
    <ConfirmTyped
      isOpen={isOpen}
      onClose={onClose}
      title={WORDS.title}
      name={typedName(person)}
      submit={WORDS.submit}
      isBusy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
    >
      <div className="flex flex-col gap-2">
        <p>{WORDS.description}</p>
        <Checkbox
          label={WORDS.withEvents}
          hint={WORDS.withEventsHint}
          checked={withEvents}
          onChange={setWithEvents}
        />
        {!withEvents && <p>{WORDS.keepsEvents}</p>}
        <p>{WORDS.again}</p>
      </div>
    </ConfirmTyped>
  );
}
