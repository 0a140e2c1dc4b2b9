import { type ComponentProps, useId, useState } from "react";
import { CONTROL, classes } from "@/ui/classes";
import { words } from "@/words/flagEditor";
import { type OnProblem, useProblem } from "./problems";

interface ShareInputProps extends Omit<ComponentProps<"input">, "value" | "onChange"> {
  label: string;
  value: number;
  onChange: (value: number) => void;
  onProblem: OnProblem;
}

interface Typed {
  text: string;
  /** The share before typing began. It stays while the text is not a share. */
  before: number;
}

/** A share in percent. Text that is not a share stays in the field, says so, and is not applied. */
export function ShareInput(props: ShareInputProps) {
  const { label, value, onChange, onProblem, className, ...rest } = props;
  const [typed, setTyped] = useState<Typed | null>(null);
  const noteId = useId();
  const isWrong = typed !== null && readShare(typed.text) === null;
  useProblem(isWrong ? words.shareInvalid(label) : null, onProblem);
  // Changed by something else, such as the slider.
  if (isWrong && value !== typed.before) setTyped(null);
  const change = (text: string) => {
    const before = typed?.before ?? value;
    setTyped({ text, before });
    const share = readShare(text) ?? before;
    if (share !== value) onChange(share);
  };
  return (
    <>
      <input
        {...rest}
        type="text"
        inputMode="decimal"
        aria-label={label}
        aria-invalid={isWrong ? true : undefined}
        aria-describedby={isWrong ? noteId : undefined}
        value={typed?.text ?? String(value)}
        onChange={(event) => change(event.target.value)}
        onFocus={(event) => event.target.select()}
        onBlur={() => !isWrong && setTyped(null)}
        className={classes(CONTROL, "text-right tabular-nums", className)}
      />
      {isWrong && (
        <span id={noteId} role="alert" className="order-last basis-full text-bad text-sm">
          {words.shareHint}
        </span>
      )}
    </>
  );
}

function readShare(text: string): number | null {
  const share = Number(text.trim().replace(",", ".") || Number.NaN);
  return share >= 0 && share <= 100 ? share : null;
}
