import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, dataOf } from "@/lib/api";

const EARLIER = 50;

/** The filters of the screen: those of the stream, and that of a property. */
export interface EarlierFilter {
  event?: string | undefined;
  action_id?: string | undefined;
  distinct_id?: string | undefined;
  person_id?: string | undefined;
  property?: string | undefined;
  value?: string | undefined;
}

type Cursor = { before: string; cursor: string } | null;

/** The events before the stream began, newest first. */
export const earlierQuery = (projectId: string, filter: EarlierFilter) =>
  infiniteQueryOptions({
    queryKey: ["live", projectId, "earlier", filter],
    queryFn: ({ signal, pageParam }: { signal: AbortSignal; pageParam: Cursor }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/events/", {
          params: {
            path: { project_id: projectId },
            query: { ...queryOf(filter), limit: String(EARLIER), ...(pageParam ?? {}) },
          },
          signal,
        }),
      ),
    initialPageParam: null as Cursor,
    getNextPageParam: (page) => cursorOf(page.next),
    // The stream brings what is new.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });

function queryOf({ property, value, ...filter }: EarlierFilter): Record<string, string> {
  const given = Object.entries(filter).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  if (property === undefined) return Object.fromEntries(given);
  const condition =
    value === undefined
      ? { key: property, operator: "is_set", type: "event" }
      : { key: property, value: [value], operator: "exact", type: "event" };
  return { ...Object.fromEntries(given), properties: JSON.stringify([condition]) };
}

function cursorOf(next: string | null): Cursor {
  if (next === null) return null;
  const query = new URL(next, location.href).searchParams;
  return { before: query.get("before") ?? "", cursor: query.get("cursor") ?? "" };
}

/** The person that a distinct id belongs to now; null: it belongs to none. */
export const personOfQuery = (projectId: string, distinctId: string) =>
  queryOptions({
    queryKey: ["persons", projectId, "of distinct id", distinctId],
    queryFn: async ({ signal }) => {
      const page = await dataOf(
        api.GET("/api/projects/{project_id}/persons/", {
          params: { path: { project_id: projectId }, query: { distinct_id: distinctId } },
          signal,
        }),
      );
      return page.results[0] ?? null;
    },
    staleTime: 60_000,
  });
