import { queryOptions } from "@tanstack/react-query";
import { api, dataOf } from "@/lib/api";
import type { components } from "@/lib/schema";

export type Report = components["schemas"]["IngestionReport"];
export type Reason = components["schemas"]["ReasonBody"];
export type Example = components["schemas"]["Example"];
export type DeadLetter = components["schemas"]["DeadLetterBody"];

const LETTERS = 100;
const REPORT_MS = 10_000;
const RETRYING_MS = 1000;

/** Outcomes of what was accepted. span: "1h", "30d"; everyMs: how often it is asked again */
export const reportQuery = (projectId: string, span: string, everyMs: number = REPORT_MS) =>
  queryOptions({
    queryKey: ["ingestion", projectId, "report", span],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/ingestion/", {
          params: { path: { project_id: projectId }, query: { from: `-${span}` } },
          signal,
        }),
      ),
    refetchInterval: everyMs,
  });

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
