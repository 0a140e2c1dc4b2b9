import { useState } from "react";
import { errorOf } from "@/lib/errors";
import { FormDialog } from "@/ui/Dialog";
import { TextAreaField, TextField } from "@/ui/Field";
import { JsonEditor } from "@/ui/JsonEditor";
import { SelectField } from "@/ui/Select";
import { words } from "@/words/persons";
import type { Person } from "./queries";
import { usePropertyChanges } from "./usePropertyChanges";

const WORDS = words.properties;

interface Props {
  person: Person;
  /** null: a new one */
  name: string | null;
  onClose: () => void;
}

export function PropertyDialog({ person, name: given, onClose }: Props) {
  const before = given === null ? undefined : person.properties[given];
  const [name, setName] = useState(given ?? "");
  const [type, setType] = useState<ValueType>(typeOf(before));
  const [text, setText] = useState(textOf(before));
  const { save } = usePropertyChanges(person);
  const read = readValue(type, text);
  const submit = () => {
    if (read.ok) save.mutate({ name: name.trim(), value: read.value }, { onSuccess: onClose });
  };
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={given === null ? WORDS.addTitle : WORDS.editTitle(given)}
      submit={WORDS.save}
      onSubmit={submit}
      canSubmit={name.trim() !== "" && read.ok}
      isBusy={save.isPending}
      error={errorOf(save.error, "properties") === undefined ? save.error : undefined}
    >
      {given === null && (
        <TextField
          label={WORDS.name}
          value={name}
          onChange={(event) => setName(event.target.value)}
          hint={name in person.properties ? WORDS.exists : undefined}
        />
      )}
      <SelectField
        label={WORDS.type}
        value={type}
        options={VALUE_TYPES.map((one) => ({ value: one, label: WORDS.types[one] }))}
        onChange={setType}
      />
      <ValueField
        type={type}
        text={text}
        onChange={setText}
        error={errorOf(save.error, "properties")}
      />
    </FormDialog>
  );
}

interface ValueProps {
  type: ValueType;
  text: string;
  onChange: (text: string) => void;
  error: string | undefined;
}

function ValueField({ type, text, onChange, error }: ValueProps) {
  switch (type) {
    case "json":
      return <JsonEditor label={WORDS.value} value={text} onChange={onChange} />;
    case "boolean":
      return (
        <SelectField
          label={WORDS.value}
          value={text === "true" ? "true" : "false"}
          options={[
            { value: "true", label: "true" },
            { value: "false", label: "false" },
          ]}
          onChange={onChange}
          error={error}
        />
      );
    case "number":
      return (
        <TextField
          label={WORDS.value}
          inputMode="decimal"
          value={text}
          onChange={(event) => onChange(event.target.value)}
          error={error}
        />
      );
    default:
      return (
        <TextAreaField
          label={WORDS.value}
          value={text}
          onChange={(event) => onChange(event.target.value)}
          error={error}
        />
      );
  }
}

const VALUE_TYPES = ["text", "number", "boolean", "json"] as const;
type ValueType = (typeof VALUE_TYPES)[number];

function typeOf(value: unknown): ValueType {
  if (typeof value === "number") return "number";
  if (typeof value === "boolean") return "boolean";
  return typeof value === "string" || value === undefined ? "text" : "json";
}

function textOf(value: unknown): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

type Read = { ok: true; value: unknown } | { ok: false; problem: string };

/** Return the typed text as a value of this type. */
function readValue(type: ValueType, text: string): Read {
  switch (type) {
    case "text":
      return { ok: true, value: text };
    case "boolean":
      return { ok: true, value: text === "true" };
    case "number": {
      const number = Number(text);
      const isNumber = text.trim() !== "" && Number.isFinite(number);
      return isNumber
        ? { ok: true, value: number }
        : { ok: false, problem: words.properties.notANumber };
    }
    case "json":
      try {
        return { ok: true, value: JSON.parse(text) };
      } catch (error) {
        return { ok: false, problem: String(error) };
      }
  }
}
