import { Plus, Trash2 } from "lucide-react";
import { describeError, placeOf } from "@/lib/errors";
import { Button, IconButton } from "@/ui/Button";
import { TextField } from "@/ui/Field";
import { Select } from "@/ui/Select";
import { words } from "@/words/guardedRelease";
import { type DraftStep, isForEveryone, stepsOf, type Unit, withStep } from "./draft";

const TEXTS = words.dialog;
const STEPS_MAX = 50;
const UNITS = (["minutes", "hours", "days"] as const).map((value) => ({
  value,
  label: TEXTS.units[value],
}));

interface Props {
  steps: readonly DraftStep[];
  shareNow: number;
  /** The percentage before the first step. */
  before: number;
  /** The number of steps that have passed; they cannot be changed. */
  passed: number;
  /** Whether the percentage of the step that follows them cannot be changed either. */
  isFixed: boolean;
  error: unknown;
  onChange: (steps: readonly DraftStep[]) => void;
}

export function StepFields(props: Props) {
  const { steps, shareNow, before, passed, isFixed, error, onChange } = props;
  const wrong = placeOf(error, "steps");
  const change = (id: number, changes: Partial<DraftStep>) =>
    onChange(steps.map((one) => (one.id === id ? { ...one, ...changes } : one)));
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1 font-medium">{TEXTS.steps}</legend>
      <p className="text-ink-3 text-sm">{TEXTS.stepHint(shareNow)}</p>
      <ol className="flex flex-col gap-2">
        {steps.map((step, place) => (
          <li key={step.id}>
            <Step
              step={step}
              number={place + 1}
              isPassed={place < passed}
              hasFixedShare={isFixed && place <= passed}
              isOnly={steps.length === 1}
              onChange={(changes) => change(step.id, changes)}
              onRemove={() => onChange(steps.filter((one) => one.id !== step.id))}
            />
            {wrong === place && (
              <p role="alert" className="text-bad text-sm">
                {describeError(error)}
              </p>
            )}
          </li>
        ))}
      </ol>
      {steps.length < STEPS_MAX && (
        <div>
          <Button small icon={Plus} onClick={() => onChange(withStep(steps, shareNow))}>
            {TEXTS.addStep}
          </Button>
        </div>
      )}
      {stepsOf(steps, before) === null && <p className="text-ink-3 text-sm">{TEXTS.rising}</p>}
    </fieldset>
  );
}

interface StepProps {
  step: DraftStep;
  number: number;
  isPassed: boolean;
  hasFixedShare: boolean;
  isOnly: boolean;
  onChange: (changes: Partial<DraftStep>) => void;
  onRemove: () => void;
}

const numberOf = (input: HTMLInputElement): number | null =>
  input.value === "" ? null : input.valueAsNumber;

function Step({ step, number, isPassed, hasFixedShare, isOnly, onChange, onRemove }: StepProps) {
  return (
    <div className="flex flex-wrap items-center gap-2">
      <span className="flex items-center gap-1.5">
        <NumberBox
          label={TEXTS.share(number)}
          value={step.share}
          max={100}
          disabled={hasFixedShare}
          onChange={(share) => onChange({ share })}
        />
        %
      </span>
      {isForEveryone(step) ? (
        <span className="text-ink-2">{TEXTS.everyone}</span>
      ) : (
        <>
          <NumberBox
            label={TEXTS.hold(number)}
            value={step.hold}
            disabled={isPassed}
            onChange={(hold) => onChange({ hold })}
          />
          <Select
            aria-label={TEXTS.unit(number)}
            className="w-28!"
            value={step.unit}
            options={UNITS}
            disabled={isPassed}
            onChange={(unit: Unit) => onChange({ unit })}
          />
        </>
      )}
      {isPassed && <span className="text-ink-3 text-sm">{TEXTS.fixed}</span>}
      {!isOnly && !hasFixedShare && (
        <IconButton icon={Trash2} label={TEXTS.removeStep(number)} onClick={onRemove} />
      )}
    </div>
  );
}

interface NumberProps {
  label: string;
  value: number | null;
  max?: number;
  disabled: boolean;
  onChange: (value: number | null) => void;
}

function NumberBox({ label, value, onChange, ...input }: NumberProps) {
  return (
    <TextField
      {...input}
      type="number"
      min={0}
      step="any"
      label={<span className="sr-only">{label}</span>}
      value={value ?? ""}
      onChange={({ target }) => onChange(numberOf(target))}
      className="w-20 gap-0!"
    />
  );
}
