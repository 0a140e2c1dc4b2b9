import { useProjectId } from "@/app/session";
import { Combobox } from "@/ui/combobox";
import { Select } from "@/ui/Select";
import { words } from "@/words/filters";
import { cohortOptions, segmentOptions, valueOptions } from "./api";
import { DateValue } from "./DateValue";
import type { FilterUse, PropertyFilter, Scalar } from "./model";
import { valuesOf } from "./model";
import { useFilterNames } from "./names";
import { asNumber, inputOf } from "./operators";
import { TextValue } from "./TextValue";

export interface ValueEditorProps {
  filter: PropertyFilter;
  onChange: (filter: PropertyFilter) => void;
  use: FilterUse;
  event?: string | undefined;
  problem?: string | undefined;
  disabled: boolean;
}

/** The editor of the value that the property is compared with. */
export function ValueEditor(props: ValueEditorProps) {
  const { filter, onChange, use, problem, disabled } = props;
  const projectId = useProjectId();
  const names = useFilterNames([filter]);
  const input = inputOf(filter);
  const values = valuesOf(filter);
  const [first] = values;
  const setValue = (value: Scalar | readonly Scalar[] | null) => onChange({ ...filter, value });

  if (input === "none") return null;
  if (input === "cohort" || input === "segment") {
    return (
      <Wide>
        <Combobox
          label={words.kinds[input]}
          hideLabel
          placeholder={words.kinds[input]}
          options={input === "cohort" ? cohortOptions(projectId) : segmentOptions(projectId)}
          value={first === undefined ? null : String(first)}
          labelOf={(id) => names[input]?.(id)}
          onChange={(id) => setValue(id === null ? null : Number(id))}
          error={problem}
          disabled={disabled}
        />
      </Wide>
    );
  }
  if (input === "flag") {
    return <FlagValue value={first} onChange={setValue} disabled={disabled} />;
  }
  if (input === "date") {
    return (
      <DateValue
        value={typeof first === "string" ? first : ""}
        onChange={setValue}
        problem={problem}
        disabled={disabled}
      />
    );
  }
  if (input === "range") {
    return (
      <RangeValue
        values={values}
        onChange={setValue}
        use={use}
        problem={problem}
        disabled={disabled}
      />
    );
  }
  if (input === "many" || input === "texts") return <ManyValues {...props} onValues={setValue} />;
  return (
    <TextValue
      label={words.value}
      value={first === undefined ? "" : String(first)}
      isNumber={input === "number"}
      hint={input === "pattern" ? words.matchesHint : undefined}
      mono={input === "pattern"}
      problem={problem}
      disabled={disabled}
      onChange={(text) => setValue(input === "number" ? asNumber(text, use) : text)}
    />
  );
}

/** Values that were seen, or any other. */
function ManyValues({
  filter,
  event,
  problem,
  disabled,
  onValues,
}: ValueEditorProps & { onValues: (values: readonly Scalar[] | null) => void }) {
  const projectId = useProjectId();
  const values = valuesOf(filter);
  // Chips are texts; a number or a boolean among the stored values stays what it was.
  const typed = new Map(values.map((value) => [String(value), value]));
  return (
    <Wide>
      <Combobox
        multiple
        freeEntry
        label={words.values}
        hideLabel
        placeholder={words.valuePlaceholder}
        options={
          filter.key === ""
            ? []
            : valueOptions(projectId, filter.key, {
                kind: filter.type,
                groupTypeIndex: filter.group_type_index,
                event,
              })
        }
        value={values.map(String)}
        onChange={(texts) =>
          onValues(texts.length === 0 ? null : texts.map((text) => typed.get(text) ?? text))
        }
        error={problem}
        disabled={disabled}
      />
    </Wide>
  );
}

function RangeValue(props: {
  values: readonly Scalar[];
  onChange: (values: readonly Scalar[]) => void;
  use: FilterUse;
  problem: string | undefined;
  disabled: boolean;
}) {
  const [low = "", high = ""] = props.values.map(String);
  // Bounds are numbers in flags too.
  const write = (a: string, b: string) =>
    props.onChange([asNumber(a, "query"), asNumber(b, "query")]);
  return (
    <>
      <TextValue
        label={words.low}
        value={low}
        isNumber
        problem={props.problem}
        disabled={props.disabled}
        onChange={(text) => write(text, high)}
      />
      <span className="self-center text-ink-2">{words.and}</span>
      <TextValue
        label={words.high}
        value={high}
        isNumber
        disabled={props.disabled}
        onChange={(text) => write(low, text)}
      />
    </>
  );
}

function FlagValue(props: {
  value: Scalar | undefined;
  onChange: (value: Scalar) => void;
  disabled: boolean;
}) {
  const variant = typeof props.value === "string" ? props.value : null;
  const options = [
    { value: "true", label: words.isOn },
    { value: "false", label: words.isOff },
    ...(variant === null ? [] : [{ value: `variant:${variant}`, label: variant }]),
  ];
  return (
    <>
      <span className="self-center text-ink-2">{words.operators.flag_evaluates_to}</span>
      <div className="max-w-full">
        <Select
          aria-label={words.flagValue}
          value={variant === null ? String(props.value ?? true) : `variant:${variant}`}
          options={options}
          disabled={props.disabled}
          onChange={(value) =>
            props.onChange(
              value.startsWith("variant:") ? value.slice("variant:".length) : value === "true",
            )
          }
        />
      </div>
    </>
  );
}

function Wide({ children }: { children: React.ReactNode }) {
  return <div className="min-w-40 flex-1 basis-44">{children}</div>;
}
