import { infiniteQueryOptions } from "@tanstack/react-query";
import { api, dataOf } from "@/lib/api";
import { queryOf } from "@/lib/paging";
import type { components } from "@/lib/schema";

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

interface ActorsPage {
  results: readonly Actor[];
  next: string | null;
  /** Persons on the page whose events have no profile. */
  missing: number;
}

/** search: a part of a name or an e-mail address, or a whole id */
export async function readActors(
  projectId: string,
  { insight, filters, place }: ActorsQuestion,
  options: { search?: string; next: string | null; limit: number; signal: AbortSignal },
): Promise<ActorsPage> {
  const { search, next, limit, signal } = options;
  const offset = next === null ? undefined : queryOf(next).offset;
  const page = {
    limit,
    ...(offset !== undefined && { offset: Number(offset) }),
    ...(search && { search }),
  };
  const answer = await dataOf(
    api.POST(PATHS[insight], {
      params: { path: { project_id: projectId } },
      body: { ...filters, ...place, ...page },
      signal,
    }),
  );
  return {
    results: answer.results.flatMap(({ people }) => people),
    next: answer.next,
    missing: answer.missing_persons,
  };
}

const PAGE = 100;

export const actorsQuery = (projectId: string, question: ActorsQuestion, search: string) =>
  infiniteQueryOptions({
    queryKey: ["actors", projectId, question, search],
    queryFn: ({ pageParam, signal }) =>
      readActors(projectId, question, { search, next: pageParam, limit: PAGE, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });

/** Store all persons behind the number as a static cohort. */
export const createCohort = (
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
