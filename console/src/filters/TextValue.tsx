import { useId } from "react";
import { CONTROL, classes } from "@/ui/classes";

interface Props {
  label: string;
  value: string;
  onChange: (value: string) => void;
  isNumber?: boolean;
  mono?: boolean;
  hint?: string | undefined;
  problem?: string | undefined;
  disabled: boolean;
}

export function TextValue(props: Props) {
  const id = useId();
  const message = props.problem ?? props.hint;
  return (
    <div className={props.isNumber ? "w-28" : "min-w-40 flex-1 basis-44"}>
      <input
        type="text"
        inputMode={props.isNumber ? "decimal" : "text"}
        aria-label={props.label}
        aria-invalid={props.problem !== undefined || undefined}
        aria-describedby={message === undefined ? undefined : id}
        placeholder={props.label}
        value={props.value}
        disabled={props.disabled}
        spellCheck={false}
        onChange={(event) => props.onChange(event.target.value)}
        className={classes(CONTROL, props.mono && "font-mono text-[0.9em]")}
      />
      {message !== undefined && (
        <p id={id} className={`mt-1 text-sm ${props.problem ? "text-bad" : "text-ink-3"}`}>
          {message}
        </p>
      )}
    </div>
  );
}
