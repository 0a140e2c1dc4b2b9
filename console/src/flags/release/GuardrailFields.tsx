import { Plus, Trash2 } from "lucide-react";
import { useProjectId } from "@/app/session";
import { eventOptions, propertyOptions } from "@/events";
import { describeError, placeOf } from "@/lib/errors";
import { Button, IconButton } from "@/ui/Button";
import { Combobox } from "@/ui/combobox";
import { TextField } from "@/ui/Field";
import { SelectField } from "@/ui/Select";
import { words } from "@/words/guardedRelease";
import { type DraftGuardrail, newGuardrail } from "./draft";

const TEXTS = words.dialog;
const GUARDRAILS_MAX = 10;
const MEASURES = (["people", "events", "average"] as const).map((value) => ({
  value,
  label: TEXTS.measures[value],
}));
const GOALS = (["decrease", "increase"] as const).map((value) => ({
  value,
  label: TEXTS.goals[value],
}));

interface Props {
  guardrails: readonly DraftGuardrail[];
  error: unknown;
  onChange: (guardrails: readonly DraftGuardrail[]) => void;
}

/** The metrics that must not get worse. */
export function GuardrailFields({ guardrails, error, onChange }: Props) {
  const wrong = placeOf(error, "metrics");
  const change = (id: number, changes: Partial<DraftGuardrail>) =>
    onChange(guardrails.map((one) => (one.id === id ? { ...one, ...changes } : one)));
  const nextId = Math.max(-1, ...guardrails.map((one) => one.id)) + 1;
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1 font-medium">{TEXTS.guardrails}</legend>
      <p className="text-ink-3 text-sm">{TEXTS.guardrailHint}</p>
      {guardrails.map((guardrail, place) => (
        <div key={guardrail.id}>
          <GuardrailRow
            guardrail={guardrail}
            number={place + 1}
            onChange={(changes) => change(guardrail.id, changes)}
            onRemove={
              guardrails.length === 1
                ? null
                : () => onChange(guardrails.filter((one) => one.id !== guardrail.id))
            }
          />
          {wrong === place && (
            <p role="alert" className="text-bad text-sm">
              {describeError(error)}
            </p>
          )}
        </div>
      ))}
      {guardrails.length < GUARDRAILS_MAX && (
        <div>
          <Button small icon={Plus} onClick={() => onChange([...guardrails, newGuardrail(nextId)])}>
            {TEXTS.addGuardrail}
          </Button>
        </div>
      )}
    </fieldset>
  );
}

interface RowProps {
  guardrail: DraftGuardrail;
  number: number;
  onChange: (changes: Partial<DraftGuardrail>) => void;
  /** null: it is the only one */
  onRemove: (() => void) | null;
}

function GuardrailRow({ guardrail, number, onChange, onRemove }: RowProps) {
  const projectId = useProjectId();
  const { event, measure, property, goal, tolerance } = guardrail;
  return (
    <section
      aria-label={TEXTS.guardrail(number)}
      className="flex items-start gap-2 rounded-md border border-line p-3"
    >
      <div className="grid min-w-0 grow gap-3 sm:grid-cols-2">
        <Combobox
          label={TEXTS.event}
          value={event}
          onChange={(chosen) => onChange({ event: chosen })}
          options={eventOptions(projectId)}
          freeEntry
        />
        <SelectField
          label={TEXTS.measure}
          value={measure}
          options={MEASURES}
          onChange={(chosen) => onChange({ measure: chosen })}
        />
        {measure === "average" && (
          <Combobox
            label={TEXTS.property}
            value={property}
            onChange={(chosen) => onChange({ property: chosen })}
            options={propertyOptions(projectId, event)}
            freeEntry
            mono
          />
        )}
        <SelectField
          label={TEXTS.worse}
          value={goal}
          options={GOALS}
          onChange={(chosen) => onChange({ goal: chosen })}
        />
        <TextField
          type="number"
          min={0}
          step="any"
          label={TEXTS.tolerance}
          value={tolerance ?? ""}
          onChange={({ target }) =>
            onChange({ tolerance: target.value === "" ? null : target.valueAsNumber })
          }
        />
      </div>
      {onRemove !== null && (
        <IconButton icon={Trash2} label={TEXTS.removeGuardrail(number)} onClick={onRemove} />
      )}
    </section>
  );
}
