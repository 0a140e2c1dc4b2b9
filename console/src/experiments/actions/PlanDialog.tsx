import { useState } from "react";
import { FormDialog } from "@/ui/Dialog";
import { TextField } from "@/ui/Field";
import { toast } from "@/ui/Toast";
import { words } from "@/words/experimentActions";
import { type Experiment, isConflict, useExperimentChange } from "../queries";

const TEXTS = words.plan;

interface Props {
  experiment: Experiment;
  onClose: () => void;
}

/** Changes how many people and days an experiment is planned for. */
export function PlanDialog({ experiment, onClose }: Props) {
  const { parameters, version } = experiment;
  const [people, setPeople] = useState(textOf(parameters?.recommended_sample_size));
  const [days, setDays] = useState(textOf(parameters?.recommended_running_time));
  const change = useExperimentChange(experiment.id);
  const plan = {
    recommended_sample_size: numberOf(people),
    recommended_running_time: numberOf(days),
  };
  const isWhole = Object.values(plan).every((one) => one === null || isCount(one));
  const submit = () =>
    change.mutate(
      { parameters: { ...parameters, ...plan }, version },
      {
        onSuccess: () => {
          onClose();
          toast({ text: words.done.planned });
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
      canSubmit={isWhole}
      isBusy={change.isPending}
      error={isConflict(change.error) ? new Error(words.conflict) : change.error}
      onSubmit={submit}
    >
      <TextField
        label={TEXTS.people}
        isOptional
        inputMode="numeric"
        value={people}
        error={isCount(plan.recommended_sample_size ?? 1) ? undefined : TEXTS.positive}
        onChange={({ target }) => setPeople(target.value)}
      />
      <TextField
        label={TEXTS.days}
        isOptional
        inputMode="numeric"
        value={days}
        error={isCount(plan.recommended_running_time ?? 1) ? undefined : TEXTS.positive}
        onChange={({ target }) => setDays(target.value)}
      />
    </FormDialog>
  );
}

const textOf = (found: unknown): string => (typeof found === "number" ? String(found) : "");
const numberOf = (text: string): number | null => (text.trim() === "" ? null : Number(text));
const isCount = (value: number): boolean => Number.isInteger(value) && value >= 1;
