import { type QueryClient, queryOptions } from "@tanstack/react-query";
import type { Kind } from "@/insights/kinds/kind";
import { type ReadQuery, readQuery } from "@/insights/kinds/stored";
import { KIND_NAMES, type KindName, QUERY_KINDS, type Question } from "@/insights/question/model";
import { queryOfFilters } from "@/insights/question/older";
import { isObject } from "@/insights/question/reading";
import { unwrapped } from "@/insights/question/wire";
import type { NewInsight } from "./queries";

export type Stored = ReadQuery;

type SentQuery = NonNullable<NewInsight["query"]>;

/** The fields of an insight that define its question. */
export interface StoredQuery {
  filters: Record<string, unknown>;
  query: Record<string, unknown> | null;
}

/** Return the query of an insight, without display wrappers. */
export const queryOf = ({ filters, query }: StoredQuery): unknown =>
  query === null ? queryOfFilters(filters) : unwrapped(query);

/** Return the kind of an insight's question, or the query's own name if it is none of ours. */
export function kindOfStored(insight: StoredQuery): KindName | string {
  const query = queryOf(insight);
  const kind = isObject(query) ? String(query.kind ?? "") : "";
  return KIND_NAMES.find((name) => QUERY_KINDS[name] === kind) ?? kind;
}

/** Wraps a query the way other API clients store it. */
export const storedForm = (kind: Kind, question: Question): SentQuery =>
  ({ kind: "InsightVizNode", source: kind.query(question) }) as SentQuery;

const keyOf = (insight: StoredQuery) => ["part", "stored question", queryOf(insight)];

/** Loads the insight's kind, then reads its question. */
export const storedQuery = (queries: QueryClient, insight: StoredQuery) =>
  queryOptions({
    queryKey: keyOf(insight),
    queryFn: () => readQuery(queries, queryOf(insight)),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });

/** Cache the question of an insight that was just saved, so that it is not parsed again. */
export function noteStored(queries: QueryClient, insight: StoredQuery, question: Question): void {
  queries.setQueryData<Stored>(keyOf(insight), { question, problems: [] });
}
