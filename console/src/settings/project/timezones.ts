const KNOWN: readonly string[] = ["UTC", ...Intl.supportedValuesOf("timeZone")];

/** The time zones that the browser knows, and the current one, which it may not know. */
export function timezonesWith(present: string): { value: string; label: string }[] {
  const names = KNOWN.includes(present) ? KNOWN : [present, ...KNOWN];
  return [...new Set(names)].map((value) => ({ value, label: value.replaceAll("_", " ") }));
}
