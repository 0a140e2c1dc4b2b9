import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { ACTIVITY_PAGE } from "@/activity";
import { api, dataOf, send } from "@/lib/api";
import { queryOf } from "@/lib/paging";
import { prefix } from "@/lib/prefix";
import type { components } from "@/lib/schema";
import type { CohortsSearch } from "./search";

export type Cohort = components["schemas"]["CohortBody"];
export type Calculation = components["schemas"]["Calculation"];
export type Filters = components["schemas"]["CohortFilters"];

const PAGE = 100;
const ALL_MAX = 10_000;
const CALCULATING_MS = 1_000;

export function readCohorts(
  projectId: string,
  { q, kind, deleted }: CohortsSearch,
  next: string | null,
  limit: number,
  signal: AbortSignal,
) {
  const { offset } = next === null ? {} : queryOf(next);
  const query = {
    limit,
    ...(q !== undefined && { search: q }),
    ...(kind !== undefined && { type: kind }),
    ...(deleted !== undefined && { deleted }),
    ...(offset !== undefined && { offset: Number(offset) }),
  };
  return dataOf(
    api.GET("/api/projects/{project_id}/cohorts/", {
      params: { path: { project_id: projectId }, query },
      signal,
    }),
  );
}

/** Polls while one of the cohorts is being calculated. */
export const cohortsQuery = (projectId: string, search: CohortsSearch) =>
  infiniteQueryOptions({
    queryKey: ["cohorts", projectId, "list", search],
    queryFn: ({ pageParam, signal }) => readCohorts(projectId, search, pageParam, PAGE, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      state.data?.pages.some((page) => page.results.some((one) => one.is_calculating))
        ? CALCULATING_MS
        : false,
  });

export const cohortQuery = (projectId: string, cohortId: number) =>
  queryOptions({
    queryKey: ["cohorts", projectId, "one", cohortId],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/cohorts/{id}/", {
          params: { path: { project_id: projectId, id: cohortId } },
          signal,
        }),
      ),
    refetchInterval: ({ state }) => (state.data?.is_calculating ? CALCULATING_MS : false),
  });

/** version: changes with each calculation, so that the members are asked for anew */
export const membersQuery = (
  projectId: string,
  cohortId: number,
  search: string | undefined,
  version: string | null,
) =>
  infiniteQueryOptions({
    queryKey: ["cohorts", projectId, "members", cohortId, search, version],
    queryFn: ({ pageParam, signal }) =>
      readMembers(projectId, cohortId, search, pageParam, PAGE, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
  });

export async function readMembers(
  projectId: string,
  cohortId: number,
  search: string | undefined,
  next: string | null,
  limit: number,
  signal: AbortSignal,
) {
  const { offset, after } = next === null ? {} : queryOf(next);
  const query = {
    limit,
    ...(search !== undefined && { search }),
    ...(offset !== undefined && { offset: Number(offset) }),
    ...(after !== undefined && { after }),
  };
  const page = await dataOf(
    api.GET("/api/projects/{project_id}/cohorts/{id}/persons/", {
      params: { path: { project_id: projectId, id: cohortId }, query },
      signal,
    }),
  );
  // The same URL returns CSV if the request asks for it.
  if (typeof page === "string") throw new TypeError("members came as a table");
  return page;
}

export const explainQuery = (projectId: string, cohortId: number, version: string | null) =>
  queryOptions({
    queryKey: ["cohorts", projectId, "explain", cohortId, version],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/cohorts/{id}/explain/", {
          params: { path: { project_id: projectId, id: cohortId } },
          signal,
        }),
      ),
  });

export const calculationsQuery = (projectId: string, cohortId: number, version: string | null) =>
  queryOptions({
    queryKey: ["cohorts", projectId, "history", cohortId, version],
    queryFn: async ({ signal }) => {
      const page = await dataOf(
        api.GET("/api/projects/{project_id}/cohorts/{id}/calculation_history/", {
          params: { path: { project_id: projectId, id: cohortId } },
          signal,
        }),
      );
      return page.results;
    },
  });

export const cohortActivityQuery = (projectId: string, cohortId: number, page: number) =>
  queryOptions({
    queryKey: ["cohorts", projectId, "activity", cohortId, page],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/cohorts/{id}/activity/", {
          params: {
            path: { project_id: projectId, id: cohortId },
            query: { page, limit: ACTIVITY_PAGE },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });

/** All flags and cohorts of the project, for those that refer to a cohort. */
export const usersOfCohortsQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["cohorts", projectId, "users"],
    queryFn: async ({ signal }) => {
      const options = {
        params: { path: { project_id: projectId }, query: { limit: ALL_MAX } },
        signal,
      };
      const [flags, cohorts] = await Promise.all([
        dataOf(api.GET("/api/projects/{project_id}/feature_flags/", options)),
        dataOf(api.GET("/api/projects/{project_id}/cohorts/", options)),
      ]);
      return { flags: flags.results, cohorts: cohorts.results };
    },
    staleTime: 30_000,
  });

export const previewQuery = (projectId: string, filters: Filters) =>
  queryOptions({
    queryKey: ["cohorts", projectId, "preview", filters],
    queryFn: ({ signal }) =>
      dataOf(
        api.POST("/api/projects/{project_id}/cohorts/preview/", {
          params: { path: { project_id: projectId } },
          body: { filters },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });

const cohortsAddress = (projectId: string): string =>
  `${location.origin}${prefix}/api/projects/${projectId}/cohorts/`;

/** Add the persons of a file to a static cohort. */
export async function sendFile(projectId: string, file: File, cohortId: number): Promise<void> {
  const url = `${cohortsAddress(projectId)}${cohortId}/`;
  await send(new Request(url, { method: "PATCH", body: formOf(file) }));
}

/** A new static cohort of the persons in a file; answers with its id. */
export async function sendNewCohortFile(
  projectId: string,
  file: File,
  name: string,
): Promise<number> {
  const body = formOf(file);
  body.append("name", name);
  body.append("is_static", "true");
  const answer = await send(new Request(cohortsAddress(projectId), { method: "POST", body }));
  const made: { id: number } = await answer.json();
  return made.id;
}

function formOf(file: File): FormData {
  const form = new FormData();
  form.append("csv", file);
  return form;
}
