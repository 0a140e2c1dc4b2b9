import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, dataOf } from "@/lib/api";
import { instantsOf, readRange } from "@/ui/ranges";
import type { ActivityEntry } from "./describe";
import type { ActivitySearch } from "./search";

export const ENTRIES = 50;
const CSV_ENTRIES = 1_000;
const MEMBERS_MAX = 1_000;

/** zone: the project's, in which days begin
 * before: leaves out later entries
 */
function readPage(
  projectId: string,
  search: ActivitySearch,
  zone: string,
  page: number,
  limit: number,
  signal: AbortSignal,
  before?: Date,
) {
  const { q, who, kind, what } = search;
  const { since, until: end } = instantsOf(readRange(search, {}).range, zone, new Date());
  const until = before ?? end;
  const query = {
    page,
    limit,
    ...(q && { search: q }),
    ...(who && { user: who }),
    ...(kind && { scopes: kind }),
    ...(what && { activity: what }),
    ...(since && { since: since.toISOString() }),
    ...(until && { until: until.toISOString() }),
  };
  return dataOf(
    api.GET("/api/projects/{project_id}/activity_log/", {
      params: { path: { project_id: projectId }, query },
      signal,
    }),
  );
}

export const activityQuery = (projectId: string, search: ActivitySearch, zone: string) =>
  queryOptions({
    queryKey: ["activity", projectId, search, zone],
    queryFn: ({ signal }) => readPage(projectId, search, zone, search.page ?? 1, ENTRIES, signal),
    placeholderData: keepPreviousData,
  });

/** Return the next millisecond: times have more digits on the server. */
const later = (time: string): Date => new Date(Date.parse(time) + 1);

/** Yields every entry that the filters leave, newest first. */
export async function* everyEntry(
  projectId: string,
  search: ActivitySearch,
  zone: string,
  signal: AbortSignal,
): AsyncGenerator<ActivityEntry> {
  // New entries would shift others onto the next page, so the file would list them twice.
  let before: Date | undefined;
  for (let page = 1; ; page += 1) {
    const { results, next } = await readPage(
      projectId,
      search,
      zone,
      page,
      CSV_ENTRIES,
      signal,
      before,
    );
    before ??= results[0] && later(results[0].created_at);
    yield* results;
    if (next === null) return;
  }
}

/** The members of the organization, who may be the authors of entries. */
export const authorsQuery = queryOptions({
  queryKey: ["activity", "authors"],
  queryFn: async ({ signal }) => {
    const page = await dataOf(
      api.GET("/api/organizations/{organization}/members/", {
        params: { path: { organization: "@current" }, query: { limit: MEMBERS_MAX } },
        signal,
      }),
    );
    return page.results.map(({ user }) => user);
  },
  staleTime: 60_000,
});
