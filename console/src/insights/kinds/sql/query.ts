import { FIRST, QUERY_KINDS, type Question } from "@/insights/question/model";
import { isObject } from "@/insights/question/reading";
import { type Query, scopeParts } from "@/insights/question/wire";
import type { Given } from "@/lib/searchParams";
import { readShown, type Shown, writeShown } from "./shown";

/** The text of a query, with what stands for its placeholders. */
export interface SqlOptions {
  text: string;
  /** `values`, `variables` and `filters`, as the API has them. */
  given: Given;
  shown: Shown;
}

export const optionsOf = ({ options }: Question): SqlOptions =>
  (options.sql ?? { text: "", given: {}, shown: { display: "table" } }) as unknown as SqlOptions;

const GIVEN = ["values", "variables", "filters"] as const;

/** Read a query and how it is shown. Its text is left out behind a shared link. */
export function readSqlQuery(query: Query): Question {
  const options: SqlOptions = {
    text: typeof query.query === "string" ? query.query : "",
    given: Object.fromEntries(
      GIVEN.flatMap((name) => (isObject(query[name]) ? [[name, query[name]]] : [])),
    ),
    shown: readShown(query),
  };
  // No date range: only a dashboard sets one.
  return { ...FIRST, kind: "sql", dates: {}, options: { sql: options as unknown as Given } };
}

/** Return the query, in which the period and conditions of a dashboard are what `{filters}` stands for. */
export function sqlQuery(question: Question): Query {
  const { text, given } = optionsOf(question);
  const own = isObject(given.filters) ? given.filters : {};
  const { dates, filters } = question;
  const hasDates = dates.from !== undefined || dates.to !== undefined;
  const { dateRange, properties } = scopeParts(question);
  const within = {
    ...own,
    ...(hasDates && { dateRange }),
    ...(filters.length > 0 && { properties: bothOf(own.properties, properties) }),
  };
  return {
    kind: QUERY_KINDS.sql,
    query: text,
    ...given,
    ...(Object.keys(within).length > 0 && { filters: within }),
  };
}

/** Return two lists or trees of conditions, all of which must hold. */
const bothOf = (own: unknown, added: unknown): unknown =>
  isObject(own)
    ? { type: "AND", values: [own, groupOf(added)] }
    : [...listOf(own), ...listOf(added)];

const groupOf = (given: unknown) => ({ type: "AND", values: listOf(given) });

const listOf = (given: unknown): unknown[] => (Array.isArray(given) ? given : []);

/** Return a query as insights have it. */
export const storedSql = (query: Given, shown: Shown): Query => ({
  kind: "DataVisualizationNode",
  source: query,
  ...writeShown(shown),
});
