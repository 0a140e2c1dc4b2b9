import { CONTROL, classes } from "@/ui/classes";
import { Select } from "@/ui/Select";
import { words } from "@/words/cohorts";
import { COUNT_OPERATORS, type Leaf, UNITS } from "./model";

const WORDS = words.builder;

interface Props {
  leaf: Leaf;
  onChange: (leaf: Leaf) => void;
}

/** A whole number above 0; what is typed meanwhile may be empty. */
export function NumberInput({
  leaf,
  onChange,
  name,
  label,
}: Props & { name: string; label: string }) {
  const value = leaf[name];
  const shown = typeof value === "number" || typeof value === "string" ? value : "";
  const isWrong = !(Number(shown) > 0);
  return (
    <input
      type="number"
      min={1}
      step={1}
      aria-label={label}
      aria-invalid={isWrong || undefined}
      value={shown}
      onChange={(event) => {
        const typed = event.target.value;
        onChange({ ...leaf, [name]: typed === "" ? "" : Math.trunc(Number(typed)) });
      }}
      className={classes(CONTROL, "w-20!")}
    />
  );
}

export function CountField({ leaf, onChange }: Props) {
  const operator = COUNT_OPERATORS.find((one) => one === leaf.operator) ?? "eq";
  return (
    <>
      <Select
        aria-label={WORDS.countOperator}
        className="w-auto! max-w-full"
        value={operator}
        options={COUNT_OPERATORS.map((value) => ({ value, label: WORDS.operators[value] }))}
        onChange={(chosen) => onChange({ ...leaf, operator: chosen })}
      />
      <NumberInput leaf={leaf} onChange={onChange} name="operator_value" label={WORDS.count} />
    </>
  );
}

interface SpanProps extends Props {
  /** The words before it, which name its controls, too. */
  before: string;
  amount: string;
  unit: string;
}

/** "in the last 30 days" */
export function Span({ leaf, onChange, before, amount, unit }: SpanProps) {
  const chosen = UNITS.find((one) => one === leaf[unit]) ?? "day";
  return (
    <span className="flex flex-wrap items-center gap-2">
      <span>{before}</span>
      <NumberInput
        leaf={leaf}
        onChange={onChange}
        name={amount}
        label={`${WORDS.amount} (${before})`}
      />
      <UnitSelect
        label={`${WORDS.unit} (${before})`}
        unit={chosen}
        onChange={(next) => onChange({ ...leaf, [unit]: next })}
      />
    </span>
  );
}

interface UnitProps {
  label: string;
  unit: (typeof UNITS)[number];
  onChange: (unit: (typeof UNITS)[number]) => void;
}

function UnitSelect({ label, unit, onChange }: UnitProps) {
  return (
    <Select
      aria-label={label}
      className="w-auto! max-w-full"
      value={unit}
      options={UNITS.map((value) => ({ value, label: WORDS.units[value] }))}
      onChange={onChange}
    />
  );
}

/** A window back from the calculation, or a date since when events count. */
export function EventWindow({ leaf, onChange }: Props) {
  const { explicit_datetime: since, time_value: amount, time_interval: unit, ...others } = leaf;
  const isSince = typeof since === "string";
  return (
    <span className="flex flex-wrap items-center gap-2">
      <Select
        aria-label={WORDS.window}
        className="w-auto! max-w-full"
        value={isSince ? "since" : "last"}
        options={[
          { value: "last", label: WORDS.windows.last },
          { value: "since", label: WORDS.windows.since },
        ]}
        onChange={(chosen) =>
          onChange(
            chosen === "since"
              ? { ...others, explicit_datetime: "-30d" }
              : { ...others, time_value: amount ?? 30, time_interval: unit ?? "day" },
          )
        }
      />
      {isSince ? (
        <input
          type="text"
          aria-label={WORDS.sinceDate}
          title={WORDS.sinceHint}
          placeholder="-30d"
          value={since}
          onChange={(event) => onChange({ ...leaf, explicit_datetime: event.target.value })}
          className={classes(CONTROL, "w-44!")}
        />
      ) : (
        <Span leaf={leaf} onChange={onChange} before="" amount="time_value" unit="time_interval" />
      )}
    </span>
  );
}
