import { words } from "@/words/experimentActions";
import { useExperimentStep } from "../queries";
import { ActionDialog, type ActionDialogProps } from "./ActionDialog";

const TEXTS = words.resetting;

/** Makes an experiment a draft again. */
export function ResetDialog({ experiment, onClose }: ActionDialogProps) {
  const step = useExperimentStep(experiment.id);
  return (
    <ActionDialog
      isDanger
      texts={TEXTS}
      submit={TEXTS.submit}
      action={step}
      act={() => step.mutateAsync("reset")}
      done={() => words.done.reset}
      onClose={onClose}
    >
      {null}
    </ActionDialog>
  );
}
