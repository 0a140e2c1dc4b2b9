import { Trash2 } from "lucide-react";
import { useProjectId } from "@/app/session";
import { eventOptions } from "@/events";
import { PropertyFilterList } from "@/filters";
import { IconButton } from "@/ui/Button";
import { CONTROL } from "@/ui/classes";
import { Combobox } from "@/ui/combobox";
import { TextField } from "@/ui/Field";
import { plainName } from "@/ui/properties";
import { Select } from "@/ui/Select";
import { words } from "@/words/actions";
import { COMPARED, type Compared, MATCHINGS, type StepDraft } from "./draft";

interface Props {
  step: StepDraft;
  /** From 1. */
  number: number;
  canRemove: boolean;
  disabled: boolean;
  onChange: (step: StepDraft) => void;
  onRemove: () => void;
  errorAt: (field: string) => string | undefined;
}

/** One step of an action. */
export function StepFields(props: Props) {
  const { step, number, disabled, onChange, errorAt } = props;
  const projectId = useProjectId();
  return (
    <li className="flex min-w-0 flex-col gap-3 rounded border border-line bg-panel p-3">
      <div className="flex min-w-0 items-center justify-between gap-2">
        <h3 className="font-medium">{words.step(number)}</h3>
        {props.canRemove && (
          <IconButton
            icon={Trash2}
            label={words.removeStep(number)}
            disabled={disabled}
            onClick={props.onRemove}
          />
        )}
      </div>
      <Combobox
        label={words.event}
        freeEntry
        placeholder={words.anyEvent}
        options={eventOptions(projectId)}
        value={step.event}
        labelOf={plainName}
        onChange={(event) => onChange({ ...step, event })}
        error={errorAt("event")}
      />
      {COMPARED.map((name) => (
        <ComparedField key={name} {...{ step, number, name, disabled, onChange, errorAt }} />
      ))}
      <div className="grid min-w-0 gap-3 sm:grid-cols-2">
        <TextField
          label={words.selector}
          hint={words.selectorHint}
          value={step.selector}
          disabled={disabled}
          onChange={({ target }) => onChange({ ...step, selector: target.value })}
          error={errorAt("selector")}
        />
        <TextField
          label={words.tagName}
          hint={words.tagNameHint}
          value={step.tagName}
          disabled={disabled}
          onChange={({ target }) => onChange({ ...step, tagName: target.value })}
          error={errorAt("tag_name")}
        />
      </div>
      <PropertyFilterList
        label={words.conditionsOf(number)}
        filters={step.filters}
        onChange={(filters) => onChange({ ...step, filters })}
        use="query"
        allowed={["event", "person"]}
        disabled={disabled}
        {...(step.event !== null && { event: step.event })}
      />
      {errorAt("") && (
        <p className="text-bad text-sm" role="alert">
          {errorAt("")}
        </p>
      )}
    </li>
  );
}

interface ComparedProps
  extends Pick<Props, "step" | "number" | "disabled" | "onChange" | "errorAt"> {
  name: Compared;
}

/** A text with the way in which it is compared. */
function ComparedField({ step, number, name, disabled, onChange, errorAt }: ComparedProps) {
  const label = words.compared[name];
  const error = errorAt(name);
  return (
    <fieldset className="flex min-w-0 flex-col gap-1">
      <legend className="mb-1 font-medium">{label}</legend>
      <div className="flex min-w-0 flex-wrap gap-2">
        <Select
          aria-label={words.matchingOf(label, number)}
          className="w-auto!"
          value={step.matchings[name]}
          options={MATCHINGS.map((value) => ({ value, label: words.matchings[value] }))}
          disabled={disabled}
          onChange={(matching) =>
            onChange({ ...step, matchings: { ...step.matchings, [name]: matching } })
          }
        />
        <input
          type="text"
          aria-label={words.valueOf(label, number)}
          aria-invalid={error ? true : undefined}
          className={`${CONTROL} min-w-40 flex-1`}
          value={step.texts[name]}
          disabled={disabled}
          onChange={({ target }) =>
            onChange({ ...step, texts: { ...step.texts, [name]: target.value } })
          }
        />
      </div>
      {error && (
        <p className="text-bad text-sm" role="alert">
          {error}
        </p>
      )}
    </fieldset>
  );
}
