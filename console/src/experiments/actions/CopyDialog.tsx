import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useProjectId } from "@/app/session";
import { errorOf } from "@/lib/errors";
import { FormDialog } from "@/ui/Dialog";
import { TextField } from "@/ui/Field";
import { toast } from "@/ui/Toast";
import { words } from "@/words/experimentActions";
import type { Experiment } from "../queries";
import { useCopy } from "./queries";

const TEXTS = words.copying;

interface Props {
  experiment: Experiment;
  onClose: () => void;
}

/** Makes a draft with the metrics of an experiment, and opens it. */
export function CopyDialog({ experiment, onClose }: Props) {
  const projectId = useProjectId();
  const navigate = useNavigate();
  const [name, setName] = useState(TEXTS.copyOf(experiment.name));
  const [key, setKey] = useState("");
  const copy = useCopy(experiment.id);
  const errors = {
    name: errorOf(copy.error, "name"),
    key: errorOf(copy.error, "feature_flag_key"),
  };
  const isPlaced = errors.name !== undefined || errors.key !== undefined;
  const submit = () =>
    copy.mutate(
      { name: name.trim(), feature_flag_key: key.trim() },
      {
        onSuccess: (made) => {
          toast({ text: words.done.duplicated(made.name) });
          onClose();
          void navigate({
            to: "/project/$projectId/experiments/$experimentId",
            params: { projectId, experimentId: String(made.id) },
          });
        },
      },
    );
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={TEXTS.title}
      description={TEXTS.about}
      submit={TEXTS.submit}
      canSubmit={name.trim() !== "" && key.trim() !== ""}
      isBusy={copy.isPending}
      error={isPlaced ? null : copy.error}
      onSubmit={submit}
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
    </FormDialog>
  );
}
