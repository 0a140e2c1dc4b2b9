import {
  infiniteQueryOptions,
  keepPreviousData,
  queryOptions,
  useMutation,
  useQueryClient,
} from "@tanstack/react-query";
import { ACTIVITY_PAGE } from "@/activity";
import { useProjectId } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { ApiError } from "@/lib/errors";
import { queryOf } from "@/lib/paging";
import type { components } from "@/lib/schema";
import type { ExperimentsSearch } from "./search";

export type ListedExperiment = components["schemas"]["ExperimentBody"];
export type NewExperiment = components["schemas"]["NewExperiment"];
export type ExperimentChanges = components["schemas"]["ExperimentChanges"];
/** An experiment as it is read by itself. version: moves with every change */
export interface Experiment extends ListedExperiment {
  version: number;
}

const PAGE = 100;
const VERSION_HEADER = "X-Experiment-Version";

/** All of them begin with `experimentKeys.all`, which a change of an experiment makes stale. */
export const experimentKeys = {
  all: (projectId: string) => ["experiments", projectId] as const,
  list: (projectId: string, search: object) => ["experiments", projectId, "list", search] as const,
  one: (projectId: string, id: number) => ["experiments", projectId, "one", id] as const,
  results: (projectId: string, id: number) => ["experiments", projectId, "results", id] as const,
};

export function readExperiments(
  projectId: string,
  { q, state, archived }: ExperimentsSearch,
  next: string | null,
  limit: number,
  signal: AbortSignal,
) {
  const { offset } = next === null ? {} : queryOf(next);
  const query = {
    limit,
    ...(q !== undefined && { search: q }),
    ...(state !== undefined && { status: state }),
    ...(archived !== undefined && { archived }),
    ...(offset !== undefined && { offset: Number(offset) }),
  };
  return dataOf(
    api.GET("/api/projects/{project_id}/experiments/", {
      params: { path: { project_id: projectId }, query },
      signal,
    }),
  );
}

export const experimentsQuery = (projectId: string, search: ExperimentsSearch) =>
  infiniteQueryOptions({
    queryKey: experimentKeys.list(projectId, search),
    queryFn: ({ pageParam, signal }) => readExperiments(projectId, search, pageParam, PAGE, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
  });

async function withVersion(
  answer: Promise<{ data?: ListedExperiment; response: Response }>,
): Promise<Experiment> {
  const version = Number((await answer).response.headers.get(VERSION_HEADER));
  return { ...(await dataOf(answer)), version };
}

export const experimentQuery = (projectId: string, id: number) =>
  queryOptions({
    queryKey: experimentKeys.one(projectId, id),
    queryFn: ({ signal }) =>
      withVersion(
        api.GET("/api/projects/{project_id}/experiments/{id}/", {
          params: { path: { project_id: projectId, id } },
          signal,
        }),
      ),
  });

export const experimentActivityQuery = (projectId: string, id: number, page: number) =>
  queryOptions({
    queryKey: [...experimentKeys.all(projectId), "activity", id, page],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/experiments/{id}/activity/", {
          params: { path: { project_id: projectId, id }, query: { page, limit: ACTIVITY_PAGE } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });

export const createExperiment = (projectId: string, body: NewExperiment): Promise<Experiment> =>
  withVersion(
    api.POST("/api/projects/{project_id}/experiments/", {
      params: { path: { project_id: projectId } },
      body,
    }),
  );

const changeExperiment = (
  projectId: string,
  id: number,
  body: ExperimentChanges,
): Promise<Experiment> =>
  withVersion(
    api.PATCH("/api/projects/{project_id}/experiments/{id}/", {
      params: { path: { project_id: projectId, id } },
      body,
    }),
  );

const STEPS = {
  launch: "/api/projects/{project_id}/experiments/{id}/launch/",
  pause: "/api/projects/{project_id}/experiments/{id}/pause/",
  resume: "/api/projects/{project_id}/experiments/{id}/resume/",
  reset: "/api/projects/{project_id}/experiments/{id}/reset/",
  archive: "/api/projects/{project_id}/experiments/{id}/archive/",
  unarchive: "/api/projects/{project_id}/experiments/{id}/unarchive/",
} as const;
/** A step that takes no other values. */
export type Step = keyof typeof STEPS;

export const takeStep = (projectId: string, id: number, step: Step): Promise<Experiment> =>
  withVersion(api.POST(STEPS[step], { params: { path: { project_id: projectId, id } } }));

export const isConflict = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 409 && error.attr === "version";

/** Requests all data about experiments and flags again, except for what the
 * answer contains. */
export function useExperimentsRefresh(): (changed?: Experiment) => Promise<void> {
  const projectId = useProjectId();
  const queries = useQueryClient();
  return async (changed) => {
    if (changed !== undefined) {
      queries.setQueryData(experimentKeys.one(projectId, changed.id), changed);
    }
    await Promise.all([
      queries.invalidateQueries({ queryKey: ["flags", projectId] }),
      queries.invalidateQueries({
        queryKey: experimentKeys.all(projectId),
        predicate: ({ queryKey }) => queryKey[2] !== "one" || queryKey[3] !== changed?.id,
      }),
    ]);
  };
}

/** Return a function that reads an experiment as it is now, and who changed it last. */
export function useReadNewest(id: number) {
  const projectId = useProjectId();
  const queries = useQueryClient();
  return async () => {
    const [experiment, { results }] = await Promise.all([
      queries.fetchQuery({ ...experimentQuery(projectId, id), staleTime: 0 }),
      queries.fetchQuery({ ...experimentActivityQuery(projectId, id, 1), staleTime: 0 }),
    ]);
    return { experiment, by: results[0]?.user };
  };
}

/** With `version` in the changes, a newer experiment is not changed but shown, and `isConflict`
 * tells so. */
export function useExperimentChange(id: number) {
  const projectId = useProjectId();
  const refresh = useExperimentsRefresh();
  return useMutation({
    mutationFn: (changes: ExperimentChanges) => changeExperiment(projectId, id, changes),
    onSuccess: refresh,
    onError: (error) => {
      if (isConflict(error)) void refresh();
    },
  });
}

export function useExperimentStep(id: number) {
  const projectId = useProjectId();
  const refresh = useExperimentsRefresh();
  return useMutation({
    mutationFn: (step: Step) => takeStep(projectId, id, step),
    onSuccess: refresh,
  });
}
