import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useProjectId } from "@/app/session";
import { errorOf } from "@/lib/errors";
import { TextField } from "@/ui/Field";
import { words } from "@/words/experimentActions";
import { ActionDialog, type ActionDialogProps } from "./ActionDialog";
import { useCopy } from "./queries";

const TEXTS = words.copying;

/** Makes a draft with the metrics of an experiment, and opens it. */
export function CopyDialog({ experiment, onClose }: ActionDialogProps) {
  const projectId = useProjectId();
  const navigate = useNavigate();
  const [name, setName] = useState(TEXTS.copyOf(experiment.name));
  const [key, setKey] = useState("");
  const copy = useCopy(experiment.id);
  const errors = {
    name: errorOf(copy.error, "name"),
    key: errorOf(copy.error, "feature_flag_key"),
  };
  const sent = { name: name.trim(), feature_flag_key: key.trim() };
  const open = ({ id }: { id: number }) =>
    void navigate({
      to: "/project/$projectId/experiments/$experimentId",
      params: { projectId, experimentId: String(id) },
    });
  return (
    <ActionDialog
      texts={TEXTS}
      submit={TEXTS.submit}
      canSubmit={sent.name !== "" && sent.feature_flag_key !== ""}
      action={copy}
      isErrorPlaced={errors.name !== undefined || errors.key !== undefined}
      act={() => copy.mutateAsync(sent)}
      done={(made) => words.done.duplicated(made.name)}
      onDone={open}
      onClose={onClose}
    >
      <TextField
        label={TEXTS.name}
        value={name}
        error={errors.name}
        onChange={({ target }) => setName(target.value)}
      />
      <TextField
        label={TEXTS.key}
        hint={TEXTS.keyHint}
        value={key}
        error={errors.key}
        spellCheck={false}
        onChange={({ target }) => setKey(target.value)}
      />
    </ActionDialog>
  );
}
