import { useId, useState } from "react";
import { CONTROL } from "@/ui/classes";
import { words } from "@/words/inputs";
import { browserZone, fromLocal, offsetName, toLocal } from "./zonedTime";

export interface DateTimeInputProps {
  label: string;
  hideLabel?: boolean;
  /** ISO 8601 in UTC; null for none. */
  value: string | null;
  onChange: (value: string | null) => void;
  /** IANA name; by default the browser's. */
  zone?: string;
  /** ISO 8601; earlier times are refused. */
  min?: string;
  disabled?: boolean;
  error?: string | undefined;
}

/** Date and time on the clocks of a time zone, which is said beside it. */
export function DateTimeInput(props: DateTimeInputProps) {
  const { label, value, onChange, disabled } = props;
  const zone = props.zone ?? browserZone();
  const id = useId();
  // The typed text; empty until all parts of the date are entered.
  const [draft, setDraft] = useState<string | null>(null);
  const instant = value === null ? null : new Date(value);
  const local = draft ?? (instant === null ? "" : toLocal(instant, zone));

  const change = (text: string) => {
    setDraft(text);
    onChange(fromLocal(text, zone)?.toISOString() ?? null);
  };
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <label htmlFor={id} className={props.hideLabel ? "sr-only" : "font-medium"}>
        {label}
      </label>
      <div className="flex flex-wrap items-center gap-2">
        <div>
          <input
            id={id}
            type="datetime-local"
            value={local}
            min={props.min === undefined ? undefined : toLocal(new Date(props.min), zone)}
            disabled={disabled}
            aria-invalid={props.error !== undefined || undefined}
            aria-describedby={`${id}-zone${props.error === undefined ? "" : ` ${id}-error`}`}
            onChange={(event) => change(event.target.value)}
            onBlur={() => setDraft(null)}
            className={CONTROL}
          />
        </div>
        <span id={`${id}-zone`} className="text-sm text-ink-3">
          {words.zone(zone, offsetName(instant ?? new Date(), zone))}
        </span>
      </div>
      {props.error !== undefined && (
        <p id={`${id}-error`} className="text-sm text-bad">
          {props.error}
        </p>
      )}
    </div>
  );
}
