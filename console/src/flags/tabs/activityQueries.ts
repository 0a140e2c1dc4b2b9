import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, dataOf } from "@/lib/api";
import { flagKeys } from "../queries";

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
