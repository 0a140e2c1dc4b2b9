import { type Given, present, textOf } from "@/lib/searchParams";

export interface SqlSearch {
  /** The query that was run. */
  query?: string;
  /** The values of its variables, by name. */
  variables?: Readonly<Record<string, string | number>>;
  /** How the result is shown, by the API's names. */
  display?: string;
  x?: string;
  y?: readonly string[];
}

export const readSqlSearch = (given: Given): SqlSearch =>
  present<SqlSearch>({
    query: textOf(given.query),
    variables: readValues(given.variables),
    display: textOf(given.display),
    x: textOf(given.x),
    y: Array.isArray(given.y) ? given.y.map(String) : undefined,
  });

function readValues(given: unknown): SqlSearch["variables"] {
  if (typeof given !== "object" || given === null) return undefined;
  const found = Object.entries(given).filter(([, value]) => /^(string|number)$/.test(typeof value));
  return found.length === 0 ? undefined : Object.fromEntries(found);
}
