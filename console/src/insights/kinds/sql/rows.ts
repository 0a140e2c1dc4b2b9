import type { Answer } from "@/insights/answers";
import { plainValue } from "@/ui/properties";
import type { Plain } from "@/ui/table";

/** The rows that a query was answered with. */
export interface SqlRows {
  results: readonly (readonly unknown[])[];
  columns: readonly string[];
  /** Each column with the type of the event store. */
  types: readonly (readonly string[])[];
  hasMore: boolean;
  limit: number;
}

const listOf = (given: unknown): unknown[] => (Array.isArray(given) ? given : []);

/** Return the rows of an answer, which may have been kept by an earlier version. */
export function rowsOfAnswer({ results, beside }: Pick<Answer, "results" | "beside">): SqlRows {
  const rows = listOf(results).map(listOf);
  return {
    results: rows,
    columns: listOf(beside.columns).map(String),
    types: listOf(beside.types).map((type) => listOf(type).map(String)),
    hasMore: beside.hasMore === true,
    limit: typeof beside.limit === "number" ? beside.limit : rows.length,
  };
}

const NUMBER = /^(?:Nullable\()?(?:U?Int\d+|Float\d+|Decimal)/;

export const isNumeric = (type: string | undefined): boolean => NUMBER.test(type ?? "");

/** The value of a cell as text, number or boolean; lists and objects as JSON. */
export function plainOf(value: unknown): Plain {
  if (value === null || value === undefined) return null;
  if (typeof value === "number" || typeof value === "boolean") return value;
  return plainValue(value);
}
