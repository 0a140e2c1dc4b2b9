import { useId, useState } from "react";
import { CONTROL, classes } from "@/ui/classes";
import { words } from "@/words/insightsFunnels";

interface Props {
  label: string;
  /** undefined: the server decides */
  value: number | undefined;
  most: number;
  onChange: (value: number | undefined) => void;
  /** The placeholder for an empty field. Without one, a value is required. */
  placeholder?: string;
  className?: string;
}

/** A whole number from 1. Invalid text stays in the field with an error and is not applied. */
export function WholeField({ label, value, most, onChange, placeholder, className }: Props) {
  const id = useId();
  const [typed, setTyped] = useState<string | null>(null);
  const read = (text: string) => {
    if (text.trim() === "" && placeholder !== undefined) return undefined;
    const number = Number(text.trim() || Number.NaN);
    return Number.isInteger(number) && number >= 1 && number <= most ? number : null;
  };
  const isWrong = typed !== null && read(typed) === null;
  return (
    <span className={classes("flex min-w-0 flex-col gap-1", className)}>
      <input
        type="text"
        inputMode="numeric"
        aria-label={label}
        aria-invalid={isWrong || undefined}
        aria-describedby={isWrong ? id : undefined}
        placeholder={placeholder}
        value={typed ?? (value === undefined ? "" : String(value))}
        onChange={({ target }) => {
          setTyped(target.value);
          const number = read(target.value);
          if (number !== null) onChange(number);
        }}
        onFocus={({ target }) => target.select()}
        onBlur={() => !isWrong && setTyped(null)}
        className={classes(CONTROL, "tabular-nums")}
      />
      {isWrong && (
        <span id={id} role="alert" className="text-bad text-sm">
          {words.wholeBetween(most)}
        </span>
      )}
    </span>
  );
}
