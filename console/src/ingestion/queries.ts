import { queryOptions } from "@tanstack/react-query";
import { api, dataOf } from "@/lib/api";
import type { components } from "@/lib/schema";
import { type DateRange, instantsOf } from "@/ui/ranges";

export type Report = components["schemas"]["IngestionReport"];
export type Reason = components["schemas"]["ReasonBody"];
export type Example = components["schemas"]["Example"];
export type DeadLetter = components["schemas"]["DeadLetterBody"];

const MINUTE_MS = 60_000;
const LETTERS = 100;
const REPORT_MS = 10_000;
const RETRYING_MS = 1000;

/** Outcomes of what was accepted. zone: in which days begin; everyMs: how often it is asked again */
export const reportQuery = (
  projectId: string,
  range: DateRange,
  zone: string,
  everyMs: number = REPORT_MS,
) =>
  queryOptions({
    queryKey: ["ingestion", projectId, "report", range, zone],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/ingestion/", {
          params: { path: { project_id: projectId }, query: periodOf(range, zone) },
          signal,
        }),
      ),
    refetchInterval: everyMs,
  });

/** The minute of `to` is included, and the future has no events. */
function periodOf(range: DateRange, zone: string): { from?: string; to?: string } {
  const now = new Date();
  const { since, until } = instantsOf(range, zone, now);
  return {
    ...(since && { from: since.toISOString() }),
    ...(until && until < now && { to: new Date(until.getTime() - MINUTE_MS).toISOString() }),
  };
}

/** The newest dead letters, and how many there are. */
export const deadLettersQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["ingestion", projectId, "letters"],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/ingestion/dead_letters/", {
          params: { path: { project_id: projectId }, query: { limit: LETTERS } },
          signal,
        }),
      ),
    // While a dead letter is being retried, its result is shown at once.
    refetchInterval: (query) =>
      query.state.data?.results.some((one) => one.retry_requested_at !== null)
        ? RETRYING_MS
        : REPORT_MS,
  });

export const letterBodyQuery = (projectId: string, letterId: number) =>
  queryOptions({
    // Apart from the others: it stays as it is when they are asked for again.
    queryKey: ["dead letter", projectId, letterId, "body"],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/ingestion/dead_letters/{id}/body/", {
          params: { path: { project_id: projectId, id: letterId } },
          signal,
        }),
      ),
    staleTime: Number.POSITIVE_INFINITY,
  });

export const retryLetter = (projectId: string, letterId: number) =>
  dataOf(
    api.POST("/api/projects/{project_id}/ingestion/dead_letters/{id}/retry/", {
      params: { path: { project_id: projectId, id: letterId } },
    }),
  );

export const retryLetters = (projectId: string) =>
  dataOf(
    api.POST("/api/projects/{project_id}/ingestion/dead_letters/retry/", {
      params: { path: { project_id: projectId } },
    }),
  );

export const deleteLetter = (projectId: string, letterId: number) =>
  dataOf(
    api.DELETE("/api/projects/{project_id}/ingestion/dead_letters/{id}/", {
      params: { path: { project_id: projectId, id: letterId } },
    }),
  );
