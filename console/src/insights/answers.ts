import { keepPreviousData, queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { useIsFetching } from "@/app/queries";
import { useProjectId } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import type { components } from "@/lib/schema";
import type { Given } from "@/lib/searchParams";
import type { Query } from "./question/wire";

/** The server's answer to a query. */
export interface Answer {
  query: Query;
  results: unknown;
  /** Fields that a kind has besides its results, such as names that were never seen. */
  beside: Given;
  zone: string;
  calculatedAt: Date;
}

/** An answer that came with something else, such as a dashboard. */
export type KnownAnswer = Omit<Answer, "query">;

// Older answers are shown at once and refetched. source: the server's fanion/insights/model.py
const FRESH_MS = 15 * 60_000;
const FRESH_BY_HOUR_MS = 60_000;

type Refresh = "async" | "blocking" | "force_blocking";

async function ask(
  projectId: string,
  query: Query,
  refresh: Refresh,
  signal: AbortSignal,
): Promise<Answer> {
  const answer = await dataOf(
    api.POST("/api/projects/{project_id}/query/", {
      params: { path: { project_id: projectId } },
      body: { query: query as components["schemas"]["InsightQuery"], refresh },
      signal,
    }),
  );
  const { results, timezone, last_refresh: at, ...beside } = answer as Body;
  return {
    query,
    results,
    beside,
    zone: timezone,
    calculatedAt: at === null ? new Date() : new Date(at),
  };
}

type Body = components["schemas"]["QueryResultBody"] & Given;

const answersKey = (projectId: string) => ["answer", projectId];
const answerKey = (projectId: string, query: Query | null) => [
  ...answersKey(projectId),
  JSON.stringify(query),
];

/** Whether an answer of the project is on its way. */
export function useIsAsking(projectId: string): boolean {
  return useIsFetching({ queryKey: answersKey(projectId) });
}

const STALE_MS = 30_000;

/** The cached answer, whatever its age. One that is known already is not asked for. */
const keptQuery = (projectId: string, query: Query | null, known: KnownAnswer | undefined) =>
  queryOptions({
    queryKey: answerKey(projectId, query),
    queryFn: ({ signal }) => ask(projectId, query as Query, "async", signal),
    staleTime: known === undefined ? STALE_MS : Number.POSITIVE_INFINITY,
    ...(query !== null && known !== undefined && { initialData: { ...known, query } }),
    placeholderData: keepPreviousData,
    retry: false,
  });

function isOld({ query, calculatedAt }: Answer): boolean {
  const isFine = query.interval === "hour" || query.interval === "minute";
  return Date.now() - calculatedAt.getTime() > (isFine ? FRESH_BY_HOUR_MS : FRESH_MS);
}

interface Options {
  known?: KnownAnswer | undefined;
  /** Whether nothing may be asked yet. */
  isWaiting?: boolean;
}

/** The answer to a query: the cached one at once, then a newer one once calculated. Requests are
 * cancelled when the query changes. query: null while the question is incomplete */
export function useAnswer(query: Query | null, { known, isWaiting = false }: Options = {}) {
  const projectId = useProjectId();
  const queries = useQueryClient();
  const canAsk = query !== null && !isWaiting;
  const kept = useQuery({ ...keptQuery(projectId, query, known), enabled: canAsk });
  useNewer(projectId, query, known);
  const behind = useQuery({
    queryKey: [...answerKey(projectId, query), "behind", kept.data?.calculatedAt.getTime()],
    queryFn: async ({ signal }) => {
      const answer = await ask(projectId, query as Query, "blocking", signal);
      queries.setQueryData(answerKey(projectId, query), answer);
      return answer;
    },
    enabled: canAsk && !kept.isPlaceholderData && kept.data !== undefined && isOld(kept.data),
    retry: false,
  });
  const anew = useQuery({
    queryKey: [...answerKey(projectId, query), "anew"],
    queryFn: async ({ signal }) => {
      const answer = await ask(projectId, query as Query, "force_blocking", signal);
      queries.setQueryData(answerKey(projectId, query), answer);
      return answer;
    },
    enabled: false,
    retry: false,
  });
  return {
    answer: query === null ? undefined : kept.data,
    /** Whether the answer belongs to an earlier query. */
    isOutdated: kept.isPlaceholderData,
    isBusy: kept.isFetching || behind.isFetching || anew.isFetching,
    error: kept.error ?? behind.error ?? anew.error,
    refresh: () => void anew.refetch(),
    retry: () => void kept.refetch(),
  };
}

/** Take over an answer that is newer than the one in the cache. query, known: keep them stable */
function useNewer(projectId: string, query: Query | null, known: KnownAnswer | undefined): void {
  const queries = useQueryClient();
  useEffect(() => {
    if (known === undefined || query === null) return;
    queries.setQueryData<Answer>(answerKey(projectId, query), (before) =>
      before !== undefined && before.calculatedAt >= known.calculatedAt
        ? before
        : { ...known, query },
    );
  }, [queries, projectId, query, known]);
}
