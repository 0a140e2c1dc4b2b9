const LOCALE = "en";
const rules = new Intl.PluralRules(LOCALE);
const numbers = new Intl.NumberFormat(LOCALE);

/** A number with its noun: `plural(1, "row", "rows")` is "1 row". */
export function plural(count: number, one: string, other: string): string {
  return `${numbers.format(count)} ${rules.select(count) === "one" ? one : other}`;
}

/** A number in digits with separators. */
export function digits(count: number): string {
  return numbers.format(count);
}

const lists = new Intl.ListFormat(LOCALE, { type: "disjunction" });

/** "a, b, or c" */
export function oneOf(parts: readonly string[]): string {
  return lists.format(parts);
}
