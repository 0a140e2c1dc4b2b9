import { queryOptions, experimental_streamedQuery as streamedQuery } from "@tanstack/react-query";
import { api, dataOf } from "@/lib/api";
import type { components } from "@/lib/schema";
import type { FlagBody } from "./model";
import { flagKeys } from "./queries";

export type FlagOverview = components["schemas"]["FlagOverview"];

/** total: of all flags, of which not all may have been loaded */
export interface FlagList {
  flags: readonly FlagBody[];
  total: number;
}

// The first page is small, so that it is shown at once; the others come behind it.
const FIRST_PAGE = 100;
const PAGE = 1000;
const FRESH_MS = 30_000;

/** All flags of a project, page after page: search and filters are then immediate. */
export const flagListQuery = (projectId: string) =>
  queryOptions({
    queryKey: flagKeys.list(projectId),
    queryFn: streamedQuery<FlagList, FlagList>({
      streamFn: ({ signal }) => pages(projectId, signal),
      reducer: joined,
      initialValue: { flags: [], total: 0 },
      refetchMode: "replace",
    }),
    staleTime: FRESH_MS,
  });

async function* pages(projectId: string, signal: AbortSignal): AsyncGenerator<FlagList> {
  let offset = 0;
  let hasMore = true;
  while (hasMore) {
    const limit = offset === 0 ? FIRST_PAGE : PAGE;
    const page = await dataOf(
      api.GET("/api/projects/{project_id}/feature_flags/", {
        params: { path: { project_id: projectId }, query: { limit, offset } },
        signal,
      }),
    );
    yield { flags: page.results, total: page.count };
    offset += limit;
    hasMore = page.next !== null;
  }
}

/** A flag that is made meanwhile moves the others to the next page: each is kept once. */
function joined(before: FlagList, page: FlagList): FlagList {
  const known = new Set(before.flags.map((flag) => flag.id));
  const added = page.flags.filter((flag) => !known.has(flag.id));
  return { flags: [...before.flags, ...added], total: page.total };
}

/** Usage and last change of all flags by their ids, in one answer. */
export const overviewQuery = (projectId: string) =>
  queryOptions({
    queryKey: [...flagKeys.all(projectId), "overview"],
    queryFn: async ({ signal }) => {
      const found = await dataOf(
        api.GET("/api/projects/{project_id}/feature_flags/overview/", {
          params: { path: { project_id: projectId } },
          signal,
        }),
      );
      return new Map(found.flags.map((one) => [one.id, one]));
    },
    staleTime: FRESH_MS,
  });
