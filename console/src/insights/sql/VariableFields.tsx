import { TextField } from "@/ui/Field";
import { Select } from "@/ui/Select";
import { words } from "@/words/sql";
import type { Typed, Values } from "./variables";

interface Props {
  names: readonly string[];
  values: Values;
  onChange: (values: Values) => void;
}

const EMPTY: Typed = { text: "", isNumber: false };

/** A field for each variable of a query. */
export function VariableFields({ names, values, onChange }: Props) {
  if (names.length === 0) return null;
  return (
    <fieldset className="flex min-w-0 flex-wrap items-end gap-x-4 gap-y-2">
      <legend className="sr-only">{words.variables}</legend>
      {names.map((name) => (
        <VariableField
          key={name}
          name={name}
          typed={values[name] ?? EMPTY}
          onChange={(typed) => onChange({ ...values, [name]: typed })}
        />
      ))}
    </fieldset>
  );
}

interface FieldProps {
  name: string;
  typed: Typed;
  onChange: (typed: Typed) => void;
}

const OPTIONS = [
  { value: "text", label: words.types.text },
  { value: "number", label: words.types.number },
] as const;

function VariableField({ name, typed, onChange }: FieldProps) {
  return (
    <div className="flex min-w-0 items-end gap-1">
      <TextField
        label={name}
        value={typed.text}
        {...(typed.isNumber && { inputMode: "decimal" as const })}
        onChange={(event) => onChange({ ...typed, text: event.target.value })}
      />
      <Select
        aria-label={words.typeOf(name)}
        value={typed.isNumber ? "number" : "text"}
        options={OPTIONS}
        onChange={(type) => onChange({ ...typed, isNumber: type === "number" })}
        className="w-28"
      />
    </div>
  );
}
