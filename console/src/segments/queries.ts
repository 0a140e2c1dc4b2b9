import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, dataOf } from "@/lib/api";
import type { components } from "@/lib/schema";
import type { NamedItemsSearch } from "@/namedItems";

export type Segment = components["schemas"]["SegmentRecord"];

/** A project has no more. */
const ALL_MAX = 500;

export const segmentsQuery = (projectId: string, { q, deleted }: NamedItemsSearch) =>
  queryOptions({
    queryKey: ["segments", projectId, "list", q, deleted],
    queryFn: async ({ signal }) => {
      const query = {
        limit: ALL_MAX,
        ...(q !== undefined && { search: q }),
        ...(deleted !== undefined && { deleted }),
      };
      const page = await dataOf(
        api.GET("/api/projects/{project_id}/segments/", {
          params: { path: { project_id: projectId }, query },
          signal,
        }),
      );
      return page.results;
    },
    placeholderData: keepPreviousData,
  });

export const segmentQuery = (projectId: string, segmentId: number) =>
  queryOptions({
    queryKey: ["segments", projectId, "one", segmentId],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/segments/{id}/", {
          params: { path: { project_id: projectId, id: segmentId } },
          signal,
        }),
      ),
  });
