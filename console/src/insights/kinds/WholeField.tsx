import { useState } from "react";
import { TextField } from "@/ui/Field";
import { words } from "@/words/insightsQuestion";

interface Props {
  label: string;
  hint?: string;
  /** undefined: none */
  value: number | undefined;
  least: number;
  most: number;
  onChange: (value: number) => void;
  /** An empty field means none. */
  onClear?: () => void;
  error?: string | undefined;
}

/** A whole number. Invalid text stays in the field with an error and is not applied. */
export function WholeField({ label, hint, value, least, most, onChange, onClear, error }: Props) {
  const [typed, setTyped] = useState<string | null>(null);
  const isNone = (text: string) => onClear !== undefined && text.trim() === "";
  const isWrong = typed !== null && !isNone(typed) && readWhole(typed, least, most) === null;
  return (
    <TextField
      label={label}
      hint={hint}
      inputMode="numeric"
      value={typed ?? String(value ?? "")}
      error={isWrong ? words.wholeBetween(least, most) : error}
      onChange={({ target }) => {
        setTyped(target.value);
        if (isNone(target.value)) onClear?.();
        const number = readWhole(target.value, least, most);
        if (number !== null && number !== value) onChange(number);
      }}
      onBlur={() => !isWrong && setTyped(null)}
    />
  );
}

function readWhole(text: string, least: number, most: number): number | null {
  const number = Number(text.trim() === "" ? Number.NaN : text);
  return Number.isInteger(number) && number >= least && number <= most ? number : null;
}
