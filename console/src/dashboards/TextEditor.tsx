import { type KeyboardEvent, useEffect, useId, useRef } from "react";
import { CONTROL, classes } from "@/ui/classes";
import { words } from "@/words/dashboards";

// source: the server's limit, in code points
const TEXT_CHARS_MAX = 4000;

interface Props {
  text: string;
  onChange: (text: string) => void;
  /** Saves, by Ctrl or Cmd and Enter. */
  onSave: () => void;
  /** Leaves without saving, by Escape while nothing is changed. */
  onLeave?: () => void;
  error: string | undefined;
  className?: string;
}

/** The Markdown of a text, with how many signs are left when few are. */
export function TextEditor({ text, onChange, onSave, onLeave, error, className }: Props) {
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.focus(), []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      onSave();
    } else if (event.key === "Escape" && onLeave !== undefined) {
      event.preventDefault();
      onLeave();
    }
  };
  const left = TEXT_CHARS_MAX - lengthOf(text);
  const isShort = left < TEXT_CHARS_MAX / 10;
  const shown = error ?? (left < 0 ? words.tooLong(-left) : undefined);
  return (
    <div className={classes("flex min-h-0 flex-col gap-1", className)}>
      <label htmlFor={id} className="sr-only">
        {words.textField}
      </label>
      <textarea
        ref={area}
        id={id}
        value={text}
        rows={6}
        aria-describedby={`${id}-hint`}
        aria-invalid={shown ? true : undefined}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={onKeyDown}
        className={classes(CONTROL, "min-h-10 grow resize-none font-mono text-sm")}
      />
      <p
        id={`${id}-hint`}
        role={shown ? "alert" : undefined}
        className={classes("text-sm", shown ? "text-bad" : "text-ink-3")}
      >
        {shown ?? (isShort ? words.left(left) : words.textHint)}
      </p>
    </div>
  );
}

/** Return whether the server would take the text. */
export const isSavable = (text: string): boolean =>
  text.trim() !== "" && lengthOf(text) <= TEXT_CHARS_MAX;

const lengthOf = (text: string): number =>
  text.length <= TEXT_CHARS_MAX ? text.length : [...text].length;
