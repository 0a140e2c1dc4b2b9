import { isObject } from "@/insights/question/reading";
import type { SqlQuery, Variable } from "./answer";

/** The value of a variable as it is typed. A text is never taken for a number by itself, because
 * properties are texts. */
export interface Typed {
  text: string;
  isNumber: boolean;
}

/** By the names of variables. */
export type Values = Readonly<Record<string, Typed>>;

const VARIABLE = /\{\s*variables\s*\.\s*([\p{L}_][\p{L}\p{N}_]*)\s*\}/gu;

/** Return the names of the variables that a query has, in their order. */
export const variablesIn = (text: string): readonly string[] => [
  ...new Set([...text.matchAll(VARIABLE)].map((found) => found[1] ?? "")),
];

/** Return the query with the values of the variables that it has; one without a value is empty. */
export function queryOf(text: string, values: Values): SqlQuery {
  const names = variablesIn(text);
  const query: SqlQuery = { kind: "HogQLQuery", query: text };
  if (names.length === 0) return query;
  const listed = names.map((name): [string, Variable] => [
    name,
    { code_name: name, value: sentValue(values[name]) },
  ]);
  return { ...query, variables: Object.fromEntries(listed) };
}

const sentValue = (typed: Typed | undefined): string | number => {
  if (typed === undefined) return "";
  return typed.isNumber ? Number(typed.text) || 0 : typed.text;
};

export const typedOf = (value: unknown): Typed => ({
  text: String(value ?? ""),
  isNumber: typeof value === "number",
});

/** Return the values that a query has, by the names of its variables. given: its `variables` */
export const valuesOf = (given: unknown): Values =>
  Object.fromEntries(
    Object.values(isObject(given) ? given : {}).flatMap((one) =>
      isObject(one) ? [[String(one.code_name), typedOf(one.value)]] : [],
    ),
  );
