import { queryOptions } from "@tanstack/react-query";
import { api, dataOf } from "@/lib/api";
import { ApiError } from "@/lib/errors";
import type { components } from "@/lib/schema";
import type { DeadLetter, Example } from "./queries";

type Event = components["schemas"]["EventBody"];

const EVENTS = 5;
const LETTERS = 10;
const SPAN = "-30d";
const AGAIN_MS = 2000;
const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;

/** An example of the ledger, with what its reason means. */
export interface Trace extends Example {
  meaning: string;
}

export interface Whereabouts {
  isUuid: boolean;
  stored: Event[];
  hasMore: boolean;
  dropped: Trace[];
  changed: Trace[];
  letters: DeadLetter[];
  /** Requests that wait to be ingested; null: the server cannot say. */
  waiting: number | null;
}

/** All that the server knows of an event. text: a uuid, or a distinct id */
export const whereaboutsQuery = (projectId: string, text: string) =>
  queryOptions({
    queryKey: ["ingestion", projectId, "find", text],
    queryFn: ({ signal }) => findEvent(projectId, text, signal),
    enabled: text !== "",
    refetchInterval: (query) => {
      const found = query.state.data;
      return found !== undefined && found.stored.length === 0 && found.waiting !== 0
        ? AGAIN_MS
        : false;
    },
  });

async function findEvent(
  projectId: string,
  text: string,
  signal: AbortSignal,
): Promise<Whereabouts> {
  const path = { project_id: projectId };
  const isUuid = UUID.test(text);
  const [byId, byPerson, report, letters] = await Promise.all([
    isUuid ? eventOf(projectId, text, signal) : null,
    dataOf(
      api.GET("/api/projects/{project_id}/events/", {
        params: { path, query: { distinct_id: text, limit: String(EVENTS) } },
        signal,
      }),
    ),
    dataOf(
      api.GET("/api/projects/{project_id}/ingestion/", {
        params: { path, query: { from: SPAN } },
        signal,
      }),
    ),
    lettersWith(projectId, text, signal),
  ]);
  const isIt = ({ uuid, distinct_id }: Example) =>
    uuid?.toLowerCase() === text.toLowerCase() || distinct_id === text;
  const traces = (reasons: readonly { meaning: string; examples: Example[] }[]): Trace[] =>
    reasons.flatMap(({ meaning, examples }) =>
      examples.filter(isIt).map((example) => ({ ...example, meaning })),
    );
  return {
    isUuid,
    stored: byId === null ? byPerson.results : [byId],
    hasMore: byId === null && byPerson.next !== null,
    // A dead letter has no example of its events; what is in it is searched instead.
    dropped: traces(report.reasons),
    changed: traces(report.changes_not_made),
    letters,
    waiting: report.waiting === null ? null : report.waiting.requests,
  };
}

/** null: no event has this id */
async function eventOf(projectId: string, id: string, signal: AbortSignal): Promise<Event | null> {
  return orNull(
    dataOf(
      api.GET("/api/projects/{project_id}/events/{id}/", {
        params: {
          path: { project_id: projectId, id },
          query: { include_person: true },
        },
        signal,
      }),
    ),
  );
}

/** null: there is none */
async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

/** The newest dead letters whose request contains the text. */
async function lettersWith(
  projectId: string,
  text: string,
  signal: AbortSignal,
): Promise<DeadLetter[]> {
  const path = { project_id: projectId };
  const page = await dataOf(
    api.GET("/api/projects/{project_id}/ingestion/dead_letters/", {
      params: { path, query: { limit: LETTERS } },
      signal,
    }),
  );
  const bodies = await Promise.all(
    page.results.map((letter) =>
      // One that is ingested or deleted meanwhile has none any more.
      orNull(
        dataOf(
          api.GET("/api/projects/{project_id}/ingestion/dead_letters/{id}/body/", {
            params: { path: { ...path, id: letter.id } },
            signal,
          }),
        ),
      ),
    ),
  );
  // The text as in JSON, with its quotes.
  const written = JSON.stringify(text).toLowerCase();
  return page.results.filter((_, place) => bodies[place]?.body.toLowerCase().includes(written));
}
