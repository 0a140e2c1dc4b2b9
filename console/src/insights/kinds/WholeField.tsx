import { useId, useState } from "react";
import { CONTROL, classes } from "@/ui/classes";
import { TextField } from "@/ui/Field";
import { words } from "@/words/insightsQuestion";

interface WholeProps {
  label: string;
  /** undefined: none */
  value: number | undefined;
  least: number;
  most: number;
  onChange: (value: number) => void;
  /** An empty field means none. */
  onClear?: () => void;
}

interface Props extends WholeProps {
  hint?: string;
  error?: string | undefined;
}

/** A whole number. Invalid text stays in the field with an error and is not applied. */
export function WholeField({ label, hint, error, ...whole }: Props) {
  const { input, problem } = useWhole(whole);
  return <TextField label={label} hint={hint} {...input} error={problem ?? error} />;
}

interface InlineProps extends WholeProps {
  placeholder?: string;
  className?: string;
}

/** A whole number within a line of text, which is its visible label. */
export function InlineWholeField({ label, placeholder, className, ...whole }: InlineProps) {
  const id = useId();
  const { input, problem } = useWhole(whole);
  const isWrong = problem !== undefined;
  return (
    <span className={classes("flex min-w-0 flex-col gap-1", className)}>
      <input
        type="text"
        {...input}
        aria-label={label}
        aria-invalid={isWrong || undefined}
        aria-describedby={isWrong ? id : undefined}
        placeholder={placeholder}
        onFocus={({ target }) => target.select()}
        className={classes(CONTROL, "tabular-nums")}
      />
      {isWrong && (
        <span id={id} role="alert" className="text-bad text-sm">
          {problem}
        </span>
      )}
    </span>
  );
}

/** What an input for a whole number needs, and what is wrong with the text in it. */
function useWhole({ value, least, most, onChange, onClear }: Omit<WholeProps, "label">) {
  const [typed, setTyped] = useState<string | null>(null);
  const isNone = (text: string) => onClear !== undefined && text.trim() === "";
  const isWrong = typed !== null && !isNone(typed) && readWhole(typed, least, most) === null;
  const change = (text: string) => {
    setTyped(text);
    if (isNone(text)) onClear?.();
    const number = readWhole(text, least, most);
    if (number !== null && number !== value) onChange(number);
  };
  return {
    input: {
      inputMode: "numeric",
      value: typed ?? String(value ?? ""),
      onChange: ({ target }: { target: { value: string } }) => change(target.value),
      onBlur: () => {
        if (!isWrong) setTyped(null);
      },
    },
    problem: isWrong ? words.notWhole(least, most) : undefined,
  } as const;
}

function readWhole(text: string, least: number, most: number): number | null {
  const number = Number(text.trim() === "" ? Number.NaN : text);
  return Number.isInteger(number) && number >= least && number <= most ? number : null;
}
