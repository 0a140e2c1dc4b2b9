import { queryOptions } from "@tanstack/react-query";
import { api, dataOf } from "@/lib/api";
import { entriesOf } from "@/lib/trends";
import { fromLocal } from "@/ui/zonedTime";

const FRESH_MS = 30_000;
const DATE_CHARS = 10;
const FLAGS = 5;
const WORK = 8;

/** Asks whether the project has ever stored an event. */
export const hasEventsQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["home", projectId, "has events"],
    queryFn: async ({ signal }) => {
      const page = await dataOf(
        api.GET("/api/projects/{project_id}/event_definitions/", {
          params: { path: { project_id: projectId }, query: { limit: 1 } },
          signal,
        }),
      );
      return page.count > 0;
    },
    // A project that has events keeps having some.
    staleTime: (query) => (query.state.data ? Number.POSITIVE_INFINITY : 0),
  });

export interface Hours {
  times: Date[];
  values: number[];
  /** The events of today alone. */
  total: number;
  zone: string;
  /** The time of the response. */
  at: string | null;
}

const HOURS = 24;

/** Events of the last 24 hours, in the project's time zone: just after midnight, today has hardly any. */
export const eventsTodayQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["home", projectId, "events today"],
    queryFn: async ({ signal }): Promise<Hours> => {
      const trend = await dataOf(
        api.POST("/api/projects/{project_id}/insights/trend/", {
          params: { path: { project_id: projectId } },
          body: {
            date_from: "-1dStart",
            interval: "hour",
            events: [{ id: null, math: "total" }],
          },
          signal,
        }),
      );
      const series = entriesOf(trend.result)[0] ?? {};
      const days = Array.isArray(series.days) ? series.days.map(String) : [];
      const values = Array.isArray(series.data) ? series.data.map(Number) : [];
      const today = days.at(-1)?.slice(0, DATE_CHARS);
      return {
        times: days.slice(-HOURS).flatMap((day) => hourOf(day, trend.timezone)),
        values: values.slice(-HOURS),
        total: values.reduce(
          (sum, value, at) => (days[at]?.slice(0, DATE_CHARS) === today ? sum + value : sum),
          0,
        ),
        zone: trend.timezone,
        at: trend.last_refresh,
      };
    },
    refetchInterval: FRESH_MS,
  });

function hourOf(day: string, zone: string): Date[] {
  const time = fromLocal(day.replace(" ", "T"), zone);
  return time === null ? [] : [time];
}

/** Persons who did anything today. */
export const personsTodayQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["home", projectId, "persons today"],
    queryFn: async ({ signal }) => {
      const trend = await dataOf(
        api.POST("/api/projects/{project_id}/insights/trend/", {
          params: { path: { project_id: projectId } },
          body: {
            date_from: "dStart",
            display: "BoldNumber",
            events: [{ id: null, math: "dau" }],
          },
          signal,
        }),
      );
      const value = entriesOf(trend.result)[0]?.aggregated_value;
      const total = typeof value === "number" ? value : 0;
      return { total, zone: trend.timezone, at: trend.last_refresh };
    },
    refetchInterval: FRESH_MS,
  });

/** The time of the newest event, or null if none is stored. */
export const lastEventQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["home", projectId, "last event"],
    queryFn: async ({ signal }) => {
      const page = await dataOf(
        api.GET("/api/projects/{project_id}/events/", {
          params: { path: { project_id: projectId }, query: { limit: "1" } },
          signal,
        }),
      );
      return page.results[0]?.timestamp ?? null;
    },
    refetchInterval: FRESH_MS,
  });

export const problemsQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["home", projectId, "problems"],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/problems/", {
          params: { path: { project_id: projectId } },
          signal,
        }),
      ),
    refetchInterval: FRESH_MS,
  });

export const changedFlagsQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["home", projectId, "changed flags"],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/feature_flags/activity/", {
          params: { path: { project_id: projectId }, query: { limit: FLAGS } },
          signal,
        }),
      ),
    refetchInterval: FRESH_MS,
  });

export const recentWorkQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["home", projectId, "recent work"],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/activity_log/", {
          params: { path: { project_id: projectId }, query: { limit: WORK } },
          signal,
        }),
      ),
    refetchInterval: FRESH_MS,
  });
