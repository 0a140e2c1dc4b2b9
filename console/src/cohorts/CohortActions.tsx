import { useMutation } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Copy, Ellipsis, Pencil, RefreshCw, RotateCcw, Trash2 } from "lucide-react";
import { useState } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { AskLink } from "@/insights";
import { api, dataOf } from "@/lib/api";
import { errorOf } from "@/lib/errors";
import { Button, IconButton } from "@/ui/Button";
import { FormDialog } from "@/ui/Dialog";
import { TextAreaField, TextField } from "@/ui/Field";
import { Menu, MenuItem } from "@/ui/Menu";
import { toast, toastError } from "@/ui/Toast";
import { words } from "@/words/cohorts";
import type { Cohort } from "./queries";
import { useCohortChange, useCohortsRefresh } from "./useCohortChange";

const route = getRouteApi("/signed-in/project/$projectId/cohorts/$cohortId");

/** A question about what the members do each day. */
const membersQuestion = (id: number) => ({
  series: [{ event: null, math: "dau" }],
  properties: [{ type: "cohort", key: "id", operator: "in", value: id }],
});

export function CohortActions({ cohort }: { cohort: Cohort }) {
  const canEdit = useCanEdit();
  const [isRenaming, setRenaming] = useState(false);
  const duplicate = useDuplicate(cohort);
  const { remove, restore } = useDeletion(cohort);
  const hint = canEdit ? undefined : words.viewerHint;
  return (
    <>
      {cohort.deleted && (
        <Button
          icon={RotateCcw}
          disabled={!canEdit}
          title={hint}
          onClick={() => void restore().catch(toastError)}
        >
          {words.restore}
        </Button>
      )}
      {!cohort.deleted && <AskLink about={membersQuestion(cohort.id)} />}
      {!cohort.is_static && !cohort.deleted && <CalculateButton cohort={cohort} hint={hint} />}
      <Button icon={Pencil} disabled={!canEdit} title={hint} onClick={() => setRenaming(true)}>
        {words.rename}
      </Button>
      <Menu trigger={<IconButton icon={Ellipsis} label={words.more} look="default" />}>
        {!cohort.is_static && (
          <MenuItem
            icon={Copy}
            disabled={!canEdit || duplicate.isPending}
            onSelect={() => duplicate.mutate()}
          >
            {words.duplicate}
          </MenuItem>
        )}
        <MenuItem
          icon={Trash2}
          isDanger
          disabled={!canEdit || cohort.deleted}
          onSelect={() => void remove()}
        >
          {words.remove}
        </MenuItem>
      </Menu>
      {isRenaming && <RenameDialog cohort={cohort} onClose={() => setRenaming(false)} />}
    </>
  );
}

/** A change without fields recalculates the cohort. */
function CalculateButton({ cohort, hint }: { cohort: Cohort; hint: string | undefined }) {
  const change = useCohortChange(cohort.id);
  return (
    <Button
      icon={RefreshCw}
      disabled={hint !== undefined}
      title={hint}
      isBusy={change.isPending || cohort.is_calculating}
      onClick={() => change.mutate({}, { onError: toastError })}
    >
      {cohort.is_calculating ? words.calculating : words.calculate}
    </Button>
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
function useDeletion(cohort: Cohort) {
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
  return { remove, restore };
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
