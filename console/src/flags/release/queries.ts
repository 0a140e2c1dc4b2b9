import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import type { FetchOptions } from "openapi-fetch";
import { useProjectId } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { ApiError } from "@/lib/errors";
import type { components, paths } from "@/lib/schema";
import { flagKeys } from "../queries";

type Path = paths["/api/projects/{project_id}/feature_flags/{id}/guarded_release/"];
export type Release = components["schemas"]["ReleaseBody"];
export type NewRelease = NonNullable<FetchOptions<Path["post"]>["body"]>;
export type ReleaseChanges = NonNullable<FetchOptions<Path["patch"]>["body"]>;
export type Act = "pause" | "resume" | "complete" | "cancel" | "check";

// The server checks every five minutes.
const READ_EVERY_MS = 15_000;

/** The last release of a flag, also after it has ended; null without one. */
export const releaseQuery = (projectId: string, flagId: number) =>
  queryOptions({
    queryKey: [...flagKeys.all(projectId), "release", flagId],
    queryFn: ({ signal }) => readRelease(projectId, flagId, signal),
    refetchInterval: READ_EVERY_MS,
  });

const at = (projectId: string, flagId: number) => ({
  path: { project_id: projectId, id: flagId },
});

async function readRelease(
  projectId: string,
  flagId: number,
  signal: AbortSignal,
): Promise<Release | null> {
  try {
    return await dataOf(
      api.GET("/api/projects/{project_id}/feature_flags/{id}/guarded_release/", {
        params: at(projectId, flagId),
        signal,
      }),
    );
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

/** Changes the release and shows what the server answers; what it did to the flag is read again. */
export function useReleaseChange<T>(
  flagId: number,
  change: (projectId: string, sent: T) => Promise<Release>,
) {
  const projectId = useProjectId();
  const queries = useQueryClient();
  const { queryKey } = releaseQuery(projectId, flagId);
  return useMutation({
    mutationFn: (sent: T) => change(projectId, sent),
    onSuccess: (release) => queries.setQueryData(queryKey, release),
    // Also after an error: somebody else may have changed or ended it.
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: flagKeys.all(projectId) });
    },
  });
}

export const startRelease = (flagId: number) => (projectId: string, body: NewRelease) =>
  dataOf(
    api.POST("/api/projects/{project_id}/feature_flags/{id}/guarded_release/", {
      params: at(projectId, flagId),
      body,
    }),
  );

export const changeRelease = (flagId: number) => (projectId: string, body: ReleaseChanges) =>
  dataOf(
    api.PATCH("/api/projects/{project_id}/feature_flags/{id}/guarded_release/", {
      params: at(projectId, flagId),
      body,
    }),
  );

export const actOnRelease = (flagId: number) => (projectId: string, act: Act) =>
  dataOf(
    api.POST(`/api/projects/{project_id}/feature_flags/{id}/guarded_release/${act}/`, {
      params: at(projectId, flagId),
    }),
  );
