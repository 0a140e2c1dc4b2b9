import { type QueryClient, queryOptions } from "@tanstack/react-query";
import { LazyPlot } from "@/charts/LazyPlot";
import { kindQuery } from "@/insights/kinds";
import type { Kind } from "@/insights/kinds/kind";
import { type ReadQuery, readQuery } from "@/insights/kinds/stored";
import {
  ALL_KIND_NAMES,
  type KindName,
  QUERY_KINDS,
  type Question,
} from "@/insights/question/model";
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
  return ALL_KIND_NAMES.find((name) => QUERY_KINDS[name] === kind) ?? kind;
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

/** Load all that draws some insights, and read their questions, before they are shown. What cannot be
 * loaded says so in its place.
 */
export async function loadStored(
  queries: QueryClient,
  insights: readonly StoredQuery[],
): Promise<void> {
  const parts = insights.map((insight) => queries.prefetchQuery(storedQuery(queries, insight)));
  if (insights.some((insight) => kindOfStored(insight) === "trends"))
    parts.push(loadLines(queries));
  await Promise.all(parts);
}

/** Load what draws a trend, which most insights are. */
export async function loadLines(queries: QueryClient): Promise<void> {
  await Promise.all([queries.prefetchQuery(kindQuery("trends")), LazyPlot.load(queries)]);
}

/** Cache the question of an insight that was just saved, so that it is not parsed again. */
export function noteStored(queries: QueryClient, insight: StoredQuery, question: Question): void {
  queries.setQueryData<Stored>(keyOf(insight), { question, problems: [] });
}
