import {
  keepPreviousData,
  queryOptions,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { preflightQuery } from "@/app/session";
import { api, dataOf, settleLost } from "@/lib/api";
import { ApiError } from "@/lib/errors";
import type { components } from "@/lib/schema";
import { captureUrl } from "@/lib/snippets";
import { type Flag, type FlagBody, isSame } from "./model";
import type { FlagChanges, NewFlag, UnsavedEvaluation, UnsavedFlag } from "./requests";

export { filtersToSend } from "./requests";
export type { FlagChanges, NewFlag, UnsavedEvaluation, UnsavedFlag };

export type FlagReach = components["schemas"]["FlagReach"];
export type ChangePreview = components["schemas"]["FlagChangePreview"];
export type UnsavedReasons = components["schemas"]["UnsavedReasons"];
export type ExplainedFlag = components["schemas"]["ExplainedFlag"];

/** All of them begin with `flagKeys.all`, which a change of a flag makes stale. */
export const flagKeys = {
  all: (projectId: string) => ["flags", projectId] as const,
  list: (projectId: string, query: object = {}) => ["flags", projectId, "list", query] as const,
  one: (projectId: string, flagId: number) => ["flags", projectId, "one", flagId] as const,
  reach: (projectId: string, flag: string) => ["flags", projectId, "reach", flag] as const,
  reasons: (projectId: string, asked: string) => ["flags", projectId, "reasons", asked] as const,
  change: (projectId: string, flag: string) => ["flags", projectId, "change", flag] as const,
};

const VERSION_HEADER = "X-Flag-Version";

async function withVersion(
  answer: Promise<{ data?: FlagBody; response: Response }>,
): Promise<Flag> {
  const version = Number((await answer).response.headers.get(VERSION_HEADER));
  return { ...(await dataOf(answer)), version };
}

export const flagQuery = (projectId: string, flagId: number) =>
  queryOptions({
    queryKey: flagKeys.one(projectId, flagId),
    queryFn: ({ signal }) => readFlag(projectId, flagId, signal),
  });

const readFlag = (projectId: string, flagId: number, signal?: AbortSignal): Promise<Flag> =>
  withVersion(
    api.GET("/api/projects/{project_id}/feature_flags/{id}/", {
      params: { path: { project_id: projectId, id: flagId } },
      ...(signal && { signal }),
    }),
  );

/** With `version` in the changes, a newer flag is not changed, and `isConflict` tells so. */
export async function changeFlag(
  projectId: string,
  flagId: number,
  changes: FlagChanges,
): Promise<Flag> {
  try {
    return await withVersion(
      api.PATCH("/api/projects/{project_id}/feature_flags/{id}/", {
        params: { path: { project_id: projectId, id: flagId } },
        body: changes,
      }),
    );
  } catch (error) {
    return settleLost(error, async () => {
      const stored = await readFlag(projectId, flagId);
      return hasChanges(stored, changes) ? stored : null;
    });
  }
}

export async function createFlag(projectId: string, flag: NewFlag): Promise<Flag> {
  try {
    return await withVersion(
      api.POST("/api/projects/{project_id}/feature_flags/", {
        params: { path: { project_id: projectId } },
        body: flag,
      }),
    );
  } catch (error) {
    return settleLost(error, async () => {
      const params = { path: { project_id: projectId }, query: { search: flag.key } };
      const listed = await dataOf(api.GET("/api/projects/{project_id}/feature_flags/", { params }));
      const stored = listed.results.find((one) => one.key === flag.key);
      return stored !== undefined && hasChanges(stored, flag)
        ? readFlag(projectId, stored.id)
        : null;
    });
  }
}

/** Return whether the stored flag already has these values; somebody else may have saved them. */
export function hasChanges(flag: FlagBody, changes: FlagChanges | NewFlag): boolean {
  const { version: _, ...values }: FlagChanges & { version?: unknown } = changes;
  const stored: Readonly<Record<string, unknown>> = { ...flag };
  return Object.entries(values).every(([name, value]) => isSame(stored[name], value));
}

export const isConflict = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 409 && error.attr === "version";

/** Changes a flag: what is shown of it is replaced at once, lists and numbers are asked anew. */
export function useChangeFlag(projectId: string, flagId: number) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (changes: FlagChanges) => changeFlag(projectId, flagId, changes),
    onSuccess: async (flag) => {
      queries.setQueryData(flagKeys.one(projectId, flagId), flag);
      await queries.invalidateQueries({
        queryKey: flagKeys.all(projectId),
        predicate: (query) => query.queryKey[2] !== "one" || query.queryKey[3] !== flagId,
      });
    },
  });
}

/** The reach of each condition, for a flag as it would be saved. */
export const reachQuery = (projectId: string, flag: UnsavedFlag) =>
  queryOptions({
    queryKey: flagKeys.reach(projectId, JSON.stringify(flag)),
    queryFn: ({ signal }) =>
      dataOf(
        api.POST("/api/projects/{project_id}/feature_flags/reach/", {
          params: { path: { project_id: projectId } },
          body: flag,
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  });

/** Who would get a different value. A request whose result is no longer needed is cancelled. */
export const changeQuery = (projectId: string, flag: UnsavedFlag) =>
  queryOptions({
    queryKey: flagKeys.change(projectId, JSON.stringify(flag)),
    queryFn: ({ signal }) =>
      dataOf(
        api.POST("/api/projects/{project_id}/feature_flags/preview_change/", {
          params: { path: { project_id: projectId } },
          body: flag,
          signal,
        }),
      ),
    staleTime: 0,
  });

/** The values of the saved and the unsaved flag for one person, with the reasons. */
export const reasonsQuery = (projectId: string, asked: UnsavedEvaluation) =>
  queryOptions({
    queryKey: flagKeys.reasons(projectId, JSON.stringify(asked)),
    queryFn: ({ signal }) =>
      dataOf(
        api.POST("/api/projects/{project_id}/feature_flags/evaluation_reasons/", {
          params: { path: { project_id: projectId } },
          body: asked,
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    staleTime: 0,
  });

/** page: from 1 */
export const activityQuery = (projectId: string, flagId: number, page: number, limit: number) =>
  queryOptions({
    queryKey: [...flagKeys.all(projectId), "activity", flagId, page, limit],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/feature_flags/{id}/activity/", {
          params: { path: { project_id: projectId, id: flagId }, query: { page, limit } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });

/** The address at which SDKs reach the server. */
export function useHost(): string {
  return captureUrl(useQuery(preflightQuery).data?.capture_url ?? null);
}
