import { Braces, Undo2 } from "lucide-react";
import { type KeyboardEvent, useId, useState } from "react";
import { CONTROL, classes } from "@/ui/classes";
import { words } from "@/words/inputs";
import { jsonError } from "./jsonError";

export interface JsonEditorProps {
  label: string;
  /** The text, valid or not. */
  value: string;
  /** valid: whether it is JSON, or empty where that is allowed */
  onChange: (value: string, valid: boolean) => void;
  /** Accepts empty text. */
  isOptional?: boolean;
  /** Starts with one line and hides the label. */
  isCompact?: boolean;
  disabled?: boolean;
  hint?: string;
  /** The server's error about the value. */
  error?: string | undefined;
  placeholder?: string;
}

const ROWS = { normal: 6, compact: 1, max: 24 };

/** A text area for JSON that says at once where the text is wrong. */
export function JsonEditor(props: JsonEditorProps) {
  const { label, value, onChange, isCompact, disabled } = props;
  const id = useId();
  const [lastValid, setLastValid] = useState(value);
  const isEmpty = value.trim() === "";
  const problem = problemOf(value, props.isOptional ?? false);

  const change = (text: string) => {
    const isValid = problemOf(text, props.isOptional ?? false) === null;
    if (isValid) setLastValid(text);
    onChange(text, isValid);
  };
  const format = () => change(JSON.stringify(JSON.parse(value), null, 2));
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.key.toLowerCase() !== "f" || !event.shiftKey || !event.altKey) return;
    event.preventDefault();
    if (problem === null && !isEmpty) format();
  };

  const wrong = problem !== null || props.error !== undefined;
  const lines = value.split("\n").length;
  const rows = Math.min(ROWS.max, Math.max(isCompact ? ROWS.compact : ROWS.normal, lines));
  const message = problem ?? props.error ?? (isEmpty ? props.hint : (props.hint ?? words.jsonOk));
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <label htmlFor={id} className={isCompact ? "sr-only" : "font-medium"}>
        {label}
      </label>
      <textarea
        id={id}
        rows={rows}
        value={value}
        disabled={disabled}
        placeholder={props.placeholder}
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        aria-invalid={wrong || undefined}
        aria-describedby={`${id}-state`}
        onChange={(event) => change(event.target.value)}
        onKeyDown={onKeyDown}
        className={classes(CONTROL, "resize-y font-mono text-[0.9em]")}
      />
      <div className="flex min-h-6 flex-wrap items-center gap-x-3 gap-y-1 text-sm">
        <span
          id={`${id}-state`}
          aria-live="polite"
          className={wrong ? "text-bad" : isCompact ? "sr-only" : "text-ink-3"}
        >
          {message}
        </span>
        {!disabled && problem === null && !isEmpty && (
          <Action icon={<Braces size={13} aria-hidden />} text={words.format} onClick={format} />
        )}
        {!disabled && problem !== null && lastValid !== value && (
          <Action
            icon={<Undo2 size={13} aria-hidden />}
            text={words.restore}
            onClick={() => change(lastValid)}
          />
        )}
      </div>
    </div>
  );
}

function Action(props: { icon: React.ReactNode; text: string; onClick: () => void }) {
  return (
    <button
      type="button"
      onClick={props.onClick}
      className="inline-flex items-center gap-1 rounded px-1 text-ink-2 hover:bg-sunken hover:text-ink"
    >
      {props.icon}
      {props.text}
    </button>
  );
}

/** Return the problem in words, or null if there is none. */
export function problemOf(text: string, isOptional: boolean): string | null {
  if (text.trim() === "") return isOptional ? null : words.jsonEmpty;
  const error = jsonError(text);
  return error === null ? null : words.jsonAt(error.line, error.column, error.message);
}
