import { type Given, present, textOf } from "@/lib/searchParams";

export interface SqlSearch {
  /** The query that was run. */
  query?: string;
  /** The values of its variables, by name. */
  variables?: Readonly<Record<string, string | number>>;
}

export const readSqlSearch = (given: Given): SqlSearch =>
  present<SqlSearch>({ query: textOf(given.query), variables: readValues(given.variables) });

function readValues(given: unknown): SqlSearch["variables"] {
  if (typeof given !== "object" || given === null) return undefined;
  const found = Object.entries(given).filter(([, value]) => /^(string|number)$/.test(typeof value));
  return found.length === 0 ? undefined : Object.fromEntries(found);
}
