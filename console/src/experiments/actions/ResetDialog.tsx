import { FormDialog } from "@/ui/Dialog";
import { toast } from "@/ui/Toast";
import { words } from "@/words/experimentActions";
import { type Experiment, useExperimentStep } from "../queries";

const TEXTS = words.resetting;

interface Props {
  experiment: Experiment;
  onClose: () => void;
}

/** Makes an experiment a draft again. */
export function ResetDialog({ experiment, onClose }: Props) {
  const step = useExperimentStep(experiment.id);
  return (
    <FormDialog
      isOpen
      isDanger
      onClose={onClose}
      title={TEXTS.title}
      description={TEXTS.about}
      submit={TEXTS.submit}
      isBusy={step.isPending}
      error={step.error}
      onSubmit={() =>
        step.mutate("reset", {
          onSuccess: () => {
            onClose();
            toast({ text: words.done.reset });
          },
        })
      }
    >
      {null}
    </FormDialog>
  );
}
