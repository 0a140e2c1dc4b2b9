/** The parameters of an address, which may be written by hand: those without a meaning are ignored. */
export type Given = Record<string, unknown>;

/** Return a text that is not empty, or undefined. A number is a text that was typed into an address. */
export function textOf(given: unknown): string | undefined {
  if (typeof given === "number") return String(given);
  return typeof given === "string" && given !== "" ? given : undefined;
}

export const choiceOf = <T extends string>(choices: readonly T[], given: unknown): T | undefined =>
  choices.find((choice) => choice === given);

/** Return the number of a page after the first, or undefined. */
export const pageOf = (given: unknown): number | undefined =>
  typeof given === "number" && given > 1 ? Math.floor(given) : undefined;

/** Return the parameters with another value of one of them; undefined removes it. */
export function withValue<T extends object, Name extends keyof T>(
  search: T,
  name: Name,
  value: T[Name] | undefined,
): T {
  const { [name]: _, ...others } = search;
  return (value === undefined ? others : { ...others, [name]: value }) as T;
}

/** Return the object without undefined values. */
export function present<T extends object>(given: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as T;
}
