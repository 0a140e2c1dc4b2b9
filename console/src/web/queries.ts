import { keepPreviousData, type QueryClient, queryOptions } from "@tanstack/react-query";
import { api, dataOf } from "@/lib/api";
import type { components } from "@/lib/schema";
import { type DateRange, datesOf } from "@/ui/ranges";
import type { Breakdown } from "./breakdowns";
import type { ApiGroup, Value } from "./conditions";

/** What all queries of the screen have in common. */
export interface Common {
  range: DateRange;
  isCompared: boolean;
  properties: ApiGroup | undefined;
  /** Excludes persons that the project's filter identifies as test accounts. */
  hidesTests: boolean;
  goal: ApiGoal | undefined;
}

export type ApiGoal = { customEventName: string } | { actionId: number };

export type Question = Readonly<Record<string, unknown>> & { kind: string };

export const commonOf = ({ range, isCompared, properties, hidesTests, goal }: Common) => ({
  dateRange: datesOf(range),
  properties: properties ?? [],
  ...(isCompared && { compareFilter: { compare: true } }),
  filterTestAccounts: hidesTests,
  ...(goal !== undefined && { conversionGoal: goal }),
});

export const overviewOf = (common: Common): Question => ({
  kind: "WebOverviewQuery",
  ...commonOf({ ...common, isCompared: true }),
});

export interface TableQuestion {
  breakdown: Breakdown;
  cleansPaths: boolean;
  withBounces?: boolean;
  withTimes?: boolean;
  limit: number;
  offset?: number;
  /** A column of the answer, with `-` for descending. */
  order?: string;
}

// Column names as used in `orderBy`.
const ORDERS: Readonly<Record<string, string>> = {
  visitors: "Visitors",
  views: "Views",
  bounce_rate: "BounceRate",
  total_conversions: "TotalConversions",
  unique_conversions: "UniqueConversions",
  conversion_rate: "ConversionRate",
  avg_time_on_page: "AvgTimeOnPage",
  clicks: "Clicks",
};

export function tableOf(common: Common, table: TableQuestion): Question {
  const { breakdown, cleansPaths, withBounces, withTimes, limit, offset, order } = table;
  const column = order === undefined ? undefined : ORDERS[order.replace(/^-/, "")];
  const page = {
    limit,
    ...(offset !== undefined && { offset }),
    ...(column !== undefined && { orderBy: [column, order?.startsWith("-") ? "DESC" : "ASC"] }),
  };
  if (breakdown === "ExternalClicks")
    return {
      kind: "WebExternalClicksTableQuery",
      ...commonOf({ ...common, goal: undefined }),
      ...page,
    };
  const isOfGoal = common.goal !== undefined;
  return {
    kind: "WebStatsTableQuery",
    breakdownBy: breakdown,
    ...commonOf(common),
    ...page,
    ...(cleansPaths && { doPathCleaning: true }),
    ...(withBounces && !isOfGoal && { includeBounceRate: true }),
    ...(withTimes && !isOfGoal && breakdown === "Page" && { includeAvgTimeOnPage: true }),
  };
}

export const goalsOf = (common: Common, goals: readonly ApiGoal[]): Question => ({
  kind: "WebGoalsQuery",
  ...commonOf({ ...common, goal: undefined }),
  goals,
});

export interface Answer {
  results: unknown;
  columns: readonly string[];
  hasMore: boolean;
  /** When it was calculated. */
  at: string | null;
  /** Whether it is a cached answer of any age. */
  isKept: boolean;
  /** Events in the query that the project has never received. */
  unknownEvents: readonly string[];
  zone: string;
  /** The number of intervals at the end that are not over, of figures over time. */
  unfinished: number;
}

/** kept: any cached answer; recent: at most a few minutes old; now: recalculate */
type Refresh = "kept" | "recent" | "now";
const REFRESH = { kept: "lazy_async", recent: "blocking", now: "force_blocking" } as const;

// Maximum age of a cached answer before it is recalculated in the background.
const KEPT_FOR_MS = 15 * 60_000;
const FRESH_MS = 5 * 60_000;
const SOON_MS = 100;

/** The answer to a query: a cached one at once, however old, then a recent one. */
export const webQuery = (projectId: string, question: Question, refresh?: Refresh) =>
  queryOptions({
    queryKey: ["web", projectId, question],
    queryFn: ({ signal, client, queryKey }) =>
      ask(
        projectId,
        question,
        refresh ?? (client.getQueryData(queryKey) === undefined ? "kept" : "recent"),
        signal,
      ),
    staleTime: FRESH_MS,
    refetchInterval: ({ state }) => (isOld(state.data) ? SOON_MS : false),
    placeholderData: keepPreviousData,
  });

/** Recalculate everything that is shown. */
export function askAgain(client: QueryClient, projectId: string): void {
  const shown = client.getQueryCache().findAll({ queryKey: ["web", projectId], type: "active" });
  for (const { queryKey } of shown)
    void client.prefetchQuery({
      ...webQuery(projectId, queryKey[2] as Question, "now"),
      staleTime: 0,
    });
  void client.invalidateQueries({ queryKey: ["trend", projectId] });
}

const isOld = (answer: Answer | undefined): boolean =>
  answer?.isKept === true &&
  answer.at !== null &&
  Date.now() - new Date(answer.at).getTime() > KEPT_FOR_MS;

export async function ask(
  projectId: string,
  question: Question,
  refresh: Refresh,
  signal: AbortSignal,
): Promise<Answer> {
  const answer: Readonly<Record<string, unknown>> = await dataOf(
    api.POST("/api/projects/{project_id}/query/", {
      params: { path: { project_id: projectId } },
      body: {
        query: question as unknown as components["schemas"]["InsightQuery"],
        refresh: REFRESH[refresh],
      },
      signal,
    }),
  );
  return {
    results: answer.results,
    columns: textsOf(answer.columns).map((name) => name.replace(/^context\.columns\./, "")),
    hasMore: answer.hasMore === true,
    at: typeof answer.last_refresh === "string" ? answer.last_refresh : null,
    isKept: refresh === "kept" && answer.is_cached === true,
    unknownEvents: textsOf(answer.unknown_event),
    zone: String(answer.timezone),
    unfinished: Number(answer.incomplete ?? 0),
  };
}

const textsOf = (given: unknown): string[] =>
  Array.isArray(given) ? given.filter((one) => typeof one === "string") : [];

/** A number, and its value in the previous period. */
export type Pair = readonly [now: number | null, before: number | null];

export interface Row {
  value: Value;
  /** Numbers by column name. */
  numbers: Readonly<Record<string, Pair>>;
}

/** Parse the rows of a table; the API schema does not describe them. */
export function rowsOf({ results, columns }: Pick<Answer, "results" | "columns">): Row[] {
  if (!Array.isArray(results)) return [];
  return results.filter(Array.isArray).map(([value, ...pairs]: readonly unknown[]) => ({
    value: value as Value,
    numbers: Object.fromEntries(pairs.map((pair, place) => [columns[place + 1], pair as Pair])),
  }));
}

const LIVE_MS = 30_000;

/** The number of persons with an event in the last five minutes. Not polled while the page is
 * hidden. */
export const liveVisitorsQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["live visitors", projectId],
    queryFn: async ({ signal }) => {
      const answer = await dataOf(
        api.GET("/api/projects/{project_id}/events/live_visitors/", {
          params: { path: { project_id: projectId } },
          signal,
        }),
      );
      return answer.users_on_product;
    },
    refetchInterval: LIVE_MS,
    refetchIntervalInBackground: false,
  });
