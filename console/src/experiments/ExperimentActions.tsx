import { Play } from "lucide-react";
import { useCanEdit } from "@/app/session";
import { Button } from "@/ui/Button";
import { toast, toastError } from "@/ui/Toast";
import { words } from "@/words/experiments";
import { type Experiment, useExperimentStep } from "./queries";

/** What can be done with an experiment in its state. */
export function ExperimentActions({ experiment }: { experiment: Experiment }) {
  const canEdit = useCanEdit();
  const step = useExperimentStep(experiment.id);
  if (experiment.status !== "draft") return null;
  const launch = () =>
    step.mutate("launch", {
      onSuccess: () => toast({ text: words.launched(experiment.name) }),
      onError: toastError,
    });
  return (
    <Button
      look="primary"
      icon={Play}
      disabled={!canEdit}
      title={canEdit ? undefined : words.viewerHint}
      isBusy={step.isPending}
      onClick={launch}
    >
      {words.launch}
    </Button>
  );
}
