import { infiniteQueryOptions } from "@tanstack/react-query";
import { api, dataOf } from "@/lib/api";
import { queryOf } from "@/lib/paging";
import type { components } from "@/lib/schema";
import { words } from "@/words/insights";

export type Actor = components["schemas"]["ActorBody"];

const PATHS = {
  TRENDS: "/api/projects/{project_id}/persons/trends/",
  FUNNELS: "/api/projects/{project_id}/persons/funnel/",
  FUNNELS_CORRELATION: "/api/projects/{project_id}/persons/funnel/correlation/",
  RETENTION: "/api/projects/{project_id}/persons/retention/",
  PATHS: "/api/projects/{project_id}/persons/path/",
  STICKINESS: "/api/projects/{project_id}/persons/stickiness/",
  LIFECYCLE: "/api/projects/{project_id}/persons/lifecycle/",
} as const;

/** A number of an insight, whose persons are asked for. */
export interface ActorsQuestion {
  insight: keyof typeof PATHS;
  /** The question, in the names of `filters`. */
  filters: Readonly<Record<string, unknown>>;
  /** Where the number stands in the answer, such as its day and the value of its breakdown. */
  place: Readonly<Record<string, unknown>>;
}

export interface ActorsPage {
  results: readonly Actor[];
  next: string | null;
  /** Persons on the page whose events have no profile. */
  missing: number;
}

/** The page to read. search: a part of a name or an e-mail address, or a whole id */
interface PageOptions {
  search?: string;
  next: string | null;
  limit: number;
  signal: AbortSignal;
}

/** A number whose persons or groups can be read and saved. */
export interface ActorsSource {
  /** Tells it from all others. */
  key: readonly unknown[];
  /** What the value of each of them means. */
  valueHeader: string;
  read: (projectId: string, options: PageOptions) => Promise<ActorsPage>;
  /** Stores all persons behind the number as a static cohort. */
  createCohort: (projectId: string, name: string) => Promise<{ id: number }>;
}

/** The number of an insight. */
export const actorsOf = (question: ActorsQuestion): ActorsSource => ({
  key: [question],
  valueHeader: FUNNELS.has(question.insight) ? words.stepsReached : words.count,
  read: async (projectId, { signal, ...options }) => {
    const { insight, filters, place } = question;
    return pageOf(
      await dataOf(
        api.POST(PATHS[insight], {
          params: { path: { project_id: projectId } },
          body: { ...filters, ...place, ...pageParameters(options) },
          signal,
        }),
      ),
    );
  },
  createCohort: (projectId, name) => createCohort(projectId, question, name),
});

const FUNNELS: ReadonlySet<string> = new Set(["FUNNELS", "FUNNELS_CORRELATION"]);

export function pageParameters({ search, next, limit }: Omit<PageOptions, "signal">) {
  const offset = next === null ? undefined : queryOf(next).offset;
  return {
    limit,
    ...(offset !== undefined && { offset: Number(offset) }),
    ...(search && { search }),
  };
}

export const pageOf = (answer: components["schemas"]["ActorsBody"]): ActorsPage => ({
  results: answer.results.flatMap(({ people }) => people),
  next: answer.next,
  missing: answer.missing_persons,
});

const PAGE = 100;

export const actorsQuery = (projectId: string, source: ActorsSource, search: string) =>
  infiniteQueryOptions({
    queryKey: ["actors", projectId, ...source.key, search],
    queryFn: ({ pageParam, signal }) =>
      source.read(projectId, { search, next: pageParam, limit: PAGE, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });

const createCohort = (
  projectId: string,
  { insight, filters, place }: ActorsQuestion,
  name: string,
) =>
  dataOf(
    api.POST("/api/projects/{project_id}/cohorts/", {
      params: {
        path: { project_id: projectId },
        query: { ...asTexts({ ...filters, ...place }), insight },
      },
      body: { name, is_static: true },
    }),
  );

/** Lists and objects stand in a query string as JSON. */
function asTexts(values: Readonly<Record<string, unknown>>): Record<string, string> {
  const given = Object.entries(values).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(
    given.map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]),
  );
}
