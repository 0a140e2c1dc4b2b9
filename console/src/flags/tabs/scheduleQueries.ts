import { queryOptions } from "@tanstack/react-query";
import type { FetchOptions } from "openapi-fetch";
import { api, dataOf } from "@/lib/api";
import type { paths } from "@/lib/schema";
import { flagKeys } from "../queries";

type Schedules =
  paths["/api/projects/{project_id}/feature_flags/{parent_lookup_feature_flag_id}/scheduled_changes/"];
export type NewSchedule = NonNullable<FetchOptions<Schedules["post"]>["body"]>;

const SHOWN_MAX = 100;
const WAITING_MS = 15_000;

const pathOf = (projectId: string, flagId: number) => ({
  project_id: projectId,
  parent_lookup_feature_flag_id: flagId,
});

/** The newest first. Asked again by itself: the server makes the changes. */
export const schedulesQuery = (projectId: string, flagId: number) =>
  queryOptions({
    queryKey: [...flagKeys.all(projectId), "schedules", flagId],
    queryFn: async ({ signal }) => {
      const page = await dataOf(
        api.GET(
          "/api/projects/{project_id}/feature_flags/{parent_lookup_feature_flag_id}/scheduled_changes/",
          {
            params: { path: pathOf(projectId, flagId), query: { limit: SHOWN_MAX } },
            signal,
          },
        ),
      );
      return page.results;
    },
    refetchInterval: WAITING_MS,
  });

export const schedule = (projectId: string, flagId: number, change: NewSchedule) =>
  dataOf(
    api.POST(
      "/api/projects/{project_id}/feature_flags/{parent_lookup_feature_flag_id}/scheduled_changes/",
      {
        params: { path: pathOf(projectId, flagId) },
        body: change,
      },
    ),
  );

export const cancelSchedule = (projectId: string, flagId: number, changeId: number) =>
  dataOf(
    api.DELETE(
      "/api/projects/{project_id}/feature_flags/{parent_lookup_feature_flag_id}/scheduled_changes/{id}/",
      { params: { path: { ...pathOf(projectId, flagId), id: changeId } } },
    ),
  );
