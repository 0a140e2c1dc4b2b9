import type { ReactNode } from "react";
import { SelectField } from "@/ui/Select";
import { words } from "@/words/projects";

interface ZoneFieldProps {
  value: string;
  onChange: (zone: string) => void;
  disabled?: boolean;
  error?: ReactNode;
}

/** The time zone of a project, among those that the browser knows. */
export function ZoneField({ value, onChange, disabled = false, error }: ZoneFieldProps) {
  return (
    <SelectField
      label={words.timezone}
      hint={words.timezoneHint}
      disabled={disabled}
      value={value}
      options={zonesWith(value)}
      onChange={onChange}
      error={error}
    />
  );
}

const KNOWN: readonly string[] = ["UTC", ...Intl.supportedValuesOf("timeZone")];

/** The time zones that the browser knows, and the current one, which it may not know. */
function zonesWith(present: string): { value: string; label: string }[] {
  const names = KNOWN.includes(present) ? KNOWN : [present, ...KNOWN];
  return [...new Set(names)].map((value) => ({ value, label: value.replaceAll("_", " ") }));
}
