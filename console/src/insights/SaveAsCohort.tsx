import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useState } from "react";
import { useProjectId } from "@/app/session";
import { errorOf } from "@/lib/errors";
import { FormDialog } from "@/ui/Dialog";
import { TextField } from "@/ui/Field";
import { words } from "@/words/insights";
import type { ActorsSource } from "./actors";

interface Props {
  source: ActorsSource;
  name: string;
  onClose: () => void;
}

/** Asks for the name of the cohort, and leads to it. */
export function SaveAsCohort({ source, name: first, onClose }: Props) {
  const projectId = useProjectId();
  const queries = useQueryClient();
  const router = useRouter();
  const [name, setName] = useState(first);
  const save = useMutation({
    mutationFn: () => source.createCohort(projectId, name.trim()),
    onSuccess: async ({ id }) => {
      await queries.invalidateQueries({ queryKey: ["cohorts", projectId] });
      await router.navigate({
        to: "/project/$projectId/cohorts/$cohortId",
        params: { projectId, cohortId: String(id) },
      });
    },
  });
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={words.save}
      description={words.saveHint}
      submit={words.save}
      canSubmit={name.trim() !== ""}
      isBusy={save.isPending}
      error={errorOf(save.error, "name") ? undefined : save.error}
      onSubmit={() => save.mutate()}
    >
      <TextField
        label={words.name}
        value={name}
        error={errorOf(save.error, "name")}
        onChange={(event) => setName(event.target.value)}
      />
    </FormDialog>
  );
}
