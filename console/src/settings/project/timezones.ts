const KNOWN: readonly string[] = ["UTC", ...Intl.supportedValuesOf("timeZone")];

/** Those that the browser knows, and the present one, which it may not know. */
export function timezonesWith(present: string): { value: string; label: string }[] {
  const names = KNOWN.includes(present) ? KNOWN : [present, ...KNOWN];
  return [...new Set(names)].map((value) => ({ value, label: value.replaceAll("_", " ") }));
}
