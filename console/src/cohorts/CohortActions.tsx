import { useMutation } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Copy, Pencil, RotateCcw, Trash2 } from "lucide-react";
import { useState } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { errorOf } from "@/lib/errors";
import { Button } from "@/ui/Button";
import { FormDialog } from "@/ui/Dialog";
import { TextAreaField, TextField } from "@/ui/Field";
import { toast, toastError } from "@/ui/Toast";
import { words } from "@/words/cohorts";
import type { Cohort } from "./queries";
import { useCohortChange, useCohortsRefresh } from "./useCohortChange";

const route = getRouteApi("/signed-in/project/$projectId/cohorts/$cohortId");

export function CohortActions({ cohort }: { cohort: Cohort }) {
  const canEdit = useCanEdit();
  const [isRenaming, setRenaming] = useState(false);
  const duplicate = useDuplicate(cohort);
  const hint = canEdit ? undefined : words.viewerHint;
  return (
    <>
      <Button icon={Pencil} disabled={!canEdit} title={hint} onClick={() => setRenaming(true)}>
        {words.rename}
      </Button>
      {!cohort.is_static && (
        <Button
          icon={Copy}
          disabled={!canEdit}
          title={hint ?? words.duplicateHint}
          isBusy={duplicate.isPending}
          onClick={() => duplicate.mutate()}
        >
          {words.duplicate}
        </Button>
      )}
      <DeleteButton cohort={cohort} canEdit={canEdit} />
      {isRenaming && <RenameDialog cohort={cohort} onClose={() => setRenaming(false)} />}
    </>
  );
}

function useDuplicate(cohort: Cohort) {
  const projectId = useProjectId();
  const refresh = useCohortsRefresh();
  const navigate = route.useNavigate();
  return useMutation({
    mutationFn: () =>
      dataOf(
        api.GET("/api/projects/{project_id}/cohorts/{id}/duplicate_as_static_cohort/", {
          params: { path: { project_id: projectId, id: cohort.id } },
        }),
      ),
    onSuccess: async (copy) => {
      toast({ text: words.duplicated });
      await refresh();
      await navigate({
        to: "/project/$projectId/cohorts/$cohortId",
        params: { projectId, cohortId: String(copy.id) },
      });
    },
    onError: toastError,
  });
}

/** Deleting can be taken back: here, and for ten seconds by the toast. */
function DeleteButton({ cohort, canEdit }: { cohort: Cohort; canEdit: boolean }) {
  const projectId = useProjectId();
  const navigate = route.useNavigate();
  const change = useCohortChange(cohort.id);
  const restore = () => change.mutateAsync({ deleted: false });
  const remove = async () => {
    try {
      await change.mutateAsync({ deleted: true });
    } catch (error) {
      toastError(error);
      return;
    }
    toast({ text: words.removed(cohort.name || words.untitled), undo: restore });
    await navigate({ to: "/project/$projectId/cohorts", params: { projectId } });
  };
  const common = {
    disabled: !canEdit,
    title: canEdit ? undefined : words.viewerHint,
    isBusy: change.isPending,
  };
  return cohort.deleted ? (
    <Button {...common} icon={RotateCcw} onClick={() => void restore().catch(toastError)}>
      {words.restore}
    </Button>
  ) : (
    <Button {...common} icon={Trash2} look="danger" onClick={() => void remove()}>
      {words.remove}
    </Button>
  );
}

function RenameDialog({ cohort, onClose }: { cohort: Cohort; onClose: () => void }) {
  const [name, setName] = useState(cohort.name ?? "");
  const [description, setDescription] = useState(cohort.description);
  const change = useCohortChange(cohort.id);
  const submit = () =>
    change.mutate(
      { name, description },
      {
        onSuccess: () => {
          const { name: formerName, description: formerDescription } = cohort;
          const undo = () =>
            change.mutateAsync({ name: formerName, description: formerDescription });
          toast({ text: words.saved, undo });
          onClose();
        },
      },
    );
  const isOfField = ["name", "description"].some((attr) => errorOf(change.error, attr));
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={words.renameTitle}
      submit={words.save}
      onSubmit={submit}
      isBusy={change.isPending}
      error={isOfField ? undefined : change.error}
    >
      <TextField
        label={words.name}
        value={name}
        onChange={(event) => setName(event.target.value)}
        error={errorOf(change.error, "name")}
      />
      <TextAreaField
        label={words.descriptionField}
        isOptional
        value={description}
        onChange={(event) => setDescription(event.target.value)}
        error={errorOf(change.error, "description")}
      />
    </FormDialog>
  );
}
