import { useState } from "react";
import { TextField } from "@/ui/Field";
import { words } from "@/words/experimentActions";
import { isConflict, useExperimentChange } from "../queries";
import { ActionDialog, type ActionDialogProps } from "./ActionDialog";

const TEXTS = words.plan;

/** Changes how many people and days an experiment is planned for. */
export function PlanDialog({ experiment, onClose }: ActionDialogProps) {
  const { parameters, version } = experiment;
  const [people, setPeople] = useState(textOf(parameters?.recommended_sample_size));
  const [days, setDays] = useState(textOf(parameters?.recommended_running_time));
  const change = useExperimentChange(experiment.id);
  const plan = {
    recommended_sample_size: numberOf(people),
    recommended_running_time: numberOf(days),
  };
  const isWhole = Object.values(plan).every((one) => one === null || isCount(one));
  const error = isConflict(change.error) ? new Error(words.conflict) : change.error;
  return (
    <ActionDialog
      texts={TEXTS}
      submit={TEXTS.submit}
      canSubmit={isWhole}
      action={{ isPending: change.isPending, error }}
      act={() => change.mutateAsync({ parameters: { ...parameters, ...plan }, version })}
      done={() => words.done.planned}
      onClose={onClose}
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
    </ActionDialog>
  );
}

const textOf = (found: unknown): string => (typeof found === "number" ? String(found) : "");
const numberOf = (text: string): number | null => (text.trim() === "" ? null : Number(text));
const isCount = (value: number): boolean => Number.isInteger(value) && value >= 1;
