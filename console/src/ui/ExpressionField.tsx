import { useState } from "react";
import { CONTROL, classes } from "@/ui/classes";

interface Props {
  label: string;
  value: string;
  placeholder: string;
  onChange: (value: string) => void;
  error?: string | undefined;
  disabled?: boolean;
  autoFocus?: boolean;
}

/** A field for an expression in SQL, which counts once Enter is pressed or the focus has left. */
export function ExpressionField({ label, value, onChange, error, ...input }: Props) {
  const [draft, setDraft] = useState<string | null>(null);
  const keep = () => {
    if (draft !== null && draft !== value) onChange(draft);
    setDraft(null);
  };
  return (
    <div className="min-w-36 flex-1 basis-48">
      <input
        {...input}
        type="text"
        aria-label={label}
        aria-invalid={error ? true : undefined}
        className={classes(CONTROL, "font-mono")}
        spellCheck={false}
        autoComplete="off"
        value={draft ?? value}
        onChange={(event) => setDraft(event.target.value)}
        onBlur={keep}
        onKeyDown={(event) => {
          if (event.key === "Enter") keep();
        }}
      />
      {error && <p className="text-bad text-sm">{error}</p>}
    </div>
  );
}
