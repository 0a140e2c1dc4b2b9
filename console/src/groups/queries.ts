import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, dataOf } from "@/lib/api";
import { queryOf } from "@/lib/paging";
import type { components } from "@/lib/schema";

export type Group = components["schemas"]["GroupBody"];
export type GroupType = components["schemas"]["GroupTypeBody"];

const PAGE = 100;
const EVENTS_PAGE = 50;

export const groupTypesQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["groups", projectId, "types"],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/groups_types/", {
          params: { path: { project_id: projectId } },
          signal,
        }),
      ),
    staleTime: 60_000,
  });

/** order: as the API accepts it; empty for the newest first */
export interface GroupsQuestion {
  search: string;
  order: string;
}

export function readGroups(
  projectId: string,
  typeIndex: number,
  { search, order }: GroupsQuestion,
  next: string | null,
  limit: number,
  signal: AbortSignal,
) {
  const { offset } = next === null ? {} : queryOf(next);
  const query = {
    group_type_index: String(typeIndex),
    limit,
    ...(search && { search }),
    ...(order && { order }),
    ...(offset !== undefined && { offset: Number(offset) }),
  };
  return dataOf(
    api.GET("/api/projects/{project_id}/groups/", {
      params: { path: { project_id: projectId }, query },
      signal,
    }),
  );
}

export const groupsQuery = (projectId: string, typeIndex: number, question: GroupsQuestion) =>
  infiniteQueryOptions({
    queryKey: ["groups", projectId, "list", typeIndex, question],
    queryFn: ({ pageParam, signal }) =>
      readGroups(projectId, typeIndex, question, pageParam, PAGE, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
  });

export const groupQuery = (projectId: string, typeIndex: string, key: string) =>
  queryOptions({
    queryKey: ["groups", projectId, "one", typeIndex, key],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/groups/find/", {
          params: {
            path: { project_id: projectId },
            query: { group_type_index: typeIndex, group_key: key },
          },
          signal,
        }),
      ),
  });

/** Events in which a group took part: clients write its key into a property of each. */
export const groupEventsQuery = (projectId: string, typeIndex: string, key: string) =>
  infiniteQueryOptions({
    queryKey: ["groups", projectId, "events", typeIndex, key],
    queryFn: ({ pageParam, signal }) => {
      const { before, cursor } = pageParam === null ? {} : queryOf(pageParam);
      const condition = {
        type: "event",
        key: `$group_${typeIndex}`,
        operator: "exact",
        value: key,
      };
      return dataOf(
        api.GET("/api/projects/{project_id}/events/", {
          params: {
            path: { project_id: projectId },
            query: {
              properties: JSON.stringify([condition]),
              limit: String(EVENTS_PAGE),
              ...(before !== undefined && { before }),
              ...(cursor !== undefined && { cursor }),
            },
          },
          signal,
        }),
      );
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });
