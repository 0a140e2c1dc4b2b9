import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useState } from "react";
import { useProjectId } from "@/app/session";
import { api } from "@/lib/api";
import { IconButton } from "@/ui/Button";
import { FormDialog } from "@/ui/Dialog";
import { TextField } from "@/ui/Field";
import { Visible } from "@/ui/properties";
import { Loaded } from "@/ui/States";
import { toast } from "@/ui/Toast";
import { words } from "@/words/persons";
import { MergePreviewParts } from "./MergePreview";
import { PersonPicker } from "./PersonPicker";
import { mergePreviewQuery, type Person, personQuery, typedName } from "./queries";

const WORDS = words.merge;
const OTHERS_MAX = 20;

interface Props {
  person: Person;
  /** The others, in the order in which their values win. */
  ids: readonly string[];
  onChange: (ids: string[]) => void;
  onClose: () => void;
}

export function MergeDialog({ person, ids, onChange, onClose }: Props) {
  const projectId = useProjectId();
  const [typed, setTyped] = useState("");
  const preview = useQuery(mergePreviewQuery(projectId, person.id, ids));
  const merge = useMerge(person, ids, onClose);
  const name = typedName(person);
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={WORDS.title}
      description={<Visible text={WORDS.description(person.name)} />}
      wide
      isDanger
      submit={WORDS.submit}
      onSubmit={() => merge.mutate()}
      canSubmit={preview.isSuccess && !preview.isFetching && typed.trim() === name}
      isBusy={merge.isPending}
      error={merge.error}
    >
      <PersonPicker
        projectId={projectId}
        label={WORDS.others}
        hint={WORDS.othersHint}
        placeholder={WORDS.find}
        without={[person.id, ...ids]}
        disabled={ids.length >= OTHERS_MAX}
        onPick={(id) => onChange([...ids, id])}
      />
      {ids.length > 0 && (
        <>
          <ul aria-label={WORDS.chosen} className="flex flex-wrap gap-2">
            {ids.map((id) => (
              <Chosen
                key={id}
                id={id}
                onRemove={() => onChange(ids.filter((other) => other !== id))}
              />
            ))}
          </ul>
          <Loaded query={preview} rows={5}>
            {(found) => <MergePreviewParts preview={found} />}
          </Loaded>
          <TextField
            label={<Visible text={WORDS.confirm(name)} />}
            autoComplete="off"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
        </>
      )}
    </FormDialog>
  );
}

function Chosen({ id, onRemove }: { id: string; onRemove: () => void }) {
  const found = useQuery(personQuery(useProjectId(), id)).data;
  const name = found?.name ?? id;
  return (
    <li className="flex min-w-0 items-center gap-1 rounded-md bg-sunken pl-2">
      <Visible text={name} />
      <IconButton icon={X} label={WORDS.remove(name)} className="size-7" onClick={onRemove} />
    </li>
  );
}

function useMerge(person: Person, ids: readonly string[], onDone: () => void) {
  const projectId = useProjectId();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async () => {
      const { response } = await api.POST("/api/projects/{project_id}/persons/{id}/merge/", {
        params: { path: { project_id: projectId, id: person.id } },
        body: { ids: [...ids] },
      });
      return response.status;
    },
    onSuccess: async (status) => {
      toast({ text: status === 202 ? WORDS.accepted : WORDS.done(ids.length, person.name) });
      onDone();
      await queries.invalidateQueries({ queryKey: ["persons", projectId] });
    },
  });
}
