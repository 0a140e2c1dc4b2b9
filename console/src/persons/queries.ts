import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { ACTIVITY_PAGE } from "@/activity";
import type { PropertyFilter } from "@/filters";
import { api, dataOf } from "@/lib/api";
import { queryOf } from "@/lib/paging";
import type { components } from "@/lib/schema";
import type { TimelineKind } from "./search";
import { entryOf, type TimelineEntry } from "./sessions";

/** The person without fields that the API always leaves empty. */
export type Person = Omit<components["schemas"]["PersonBody"], "value_at_data_point">;
export type MergePreview = components["schemas"]["MergePreview"];
export type PersonMerge = components["schemas"]["PersonMerge"];

const PAGE = 100;
const TIMELINE_PAGE = 100;
const FLAGS_MAX = 10_000;

export interface PersonsQuestion {
  q?: string | undefined;
  in?: "name" | undefined;
  filters?: readonly PropertyFilter[] | undefined;
  /** As the API accepts it; empty for the newest first. */
  order?: string | undefined;
}

const nameContains = (text: string): PropertyFilter => ({
  type: "person",
  key: "name",
  operator: "icontains",
  value: text,
});

/** The query of the list as the API accepts it. */
function listQuery({ q, in: place, filters = [] }: PersonsQuestion) {
  const conditions = q && place === "name" ? [nameContains(q), ...filters] : filters;
  return {
    ...(q && place !== "name" && { search: q }),
    ...(conditions.length > 0 && { properties: JSON.stringify(conditions) }),
  };
}

export async function readPersons(
  projectId: string,
  question: PersonsQuestion,
  next: string | null,
  limit: number,
  signal: AbortSignal,
) {
  const { offset, after } = next === null ? {} : queryOf(next);
  const query = {
    ...listQuery(question),
    limit,
    ...(question.order && { order: question.order }),
    ...(offset !== undefined && { offset: Number(offset) }),
    ...(after !== undefined && { after }),
  };
  return dataOf(
    api.GET("/api/projects/{project_id}/persons/", {
      params: { path: { project_id: projectId }, query },
      signal,
    }),
  );
}

export const personsQuery = (projectId: string, question: PersonsQuestion) =>
  infiniteQueryOptions({
    queryKey: ["persons", projectId, "list", question],
    queryFn: ({ pageParam, signal }) => readPersons(projectId, question, pageParam, PAGE, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
  });

/** The number of persons in the list, or a lower bound if counting would take long. */
export const personsCountQuery = (projectId: string, question: PersonsQuestion) =>
  queryOptions({
    queryKey: ["persons", projectId, "count", listQuery(question)],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/persons/count/", {
          params: { path: { project_id: projectId }, query: listQuery(question) },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });

export const personQuery = (projectId: string, personId: string) =>
  queryOptions({
    queryKey: ["persons", projectId, "one", personId],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/persons/{id}/", {
          params: { path: { project_id: projectId, id: personId } },
          signal,
        }),
      ),
  });

export interface TimelineQuestion {
  kind?: TimelineKind | undefined;
  event?: string | undefined;
}

/** What happened to a person, newest first; with `event`, only those events. */
export const timelineQuery = (projectId: string, personId: string, question: TimelineQuestion) =>
  infiniteQueryOptions({
    queryKey: ["persons", projectId, "timeline", personId, question],
    queryFn: ({ pageParam, signal }) =>
      question.event === undefined
        ? readTimeline(projectId, personId, question.kind, pageParam, signal)
        : readEvents(projectId, personId, question.event, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
  });

interface TimelinePage {
  next: string | null;
  results: TimelineEntry[];
}

async function readTimeline(
  projectId: string,
  personId: string,
  kind: TimelineKind | undefined,
  next: string | null,
  signal: AbortSignal,
): Promise<TimelinePage> {
  const { before, cursor } = next === null ? {} : queryOf(next);
  return dataOf(
    api.GET("/api/projects/{project_id}/persons/{id}/timeline/", {
      params: {
        path: { project_id: projectId, id: personId },
        query: {
          limit: String(TIMELINE_PAGE),
          ...(kind !== undefined && { kind }),
          ...(before !== undefined && { before }),
          ...(cursor !== undefined && { cursor }),
        },
      },
      signal,
    }),
  );
}

async function readEvents(
  projectId: string,
  personId: string,
  event: string,
  next: string | null,
  signal: AbortSignal,
): Promise<TimelinePage> {
  const { before, cursor } = next === null ? {} : queryOf(next);
  const page = await dataOf(
    api.GET("/api/projects/{project_id}/events/", {
      params: {
        path: { project_id: projectId },
        query: {
          person_id: personId,
          event,
          limit: String(TIMELINE_PAGE),
          ...(before !== undefined && { before }),
          ...(cursor !== undefined && { cursor }),
        },
      },
      signal,
    }),
  );
  return { next: page.next, results: page.results.map(entryOf) };
}

/** Changes of properties that events made, for the history of one of them. */
export const changesQuery = (projectId: string, personId: string) =>
  timelineQuery(projectId, personId, { kind: "properties" });

export const eventQuery = (projectId: string, eventId: string) =>
  queryOptions({
    queryKey: ["events", projectId, "one", eventId],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/events/{id}/", {
          params: { path: { project_id: projectId, id: eventId } },
          signal,
        }),
      ),
    staleTime: Infinity,
  });

export const personCohortsQuery = (projectId: string, personId: string) =>
  queryOptions({
    queryKey: ["cohorts", projectId, "of", personId],
    queryFn: async ({ signal }) => {
      const found = await dataOf(
        api.GET("/api/projects/{project_id}/persons/cohorts/", {
          params: { path: { project_id: projectId }, query: { person_id: personId } },
          signal,
        }),
      );
      return found.results;
    },
  });

/** The identity with which the person's browser or app asks for flags now. */
export const currentClientQuery = (projectId: string, personId: string) =>
  queryOptions({
    queryKey: ["persons", projectId, "client", personId],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/persons/{id}/current_client/", {
          params: { path: { project_id: projectId, id: personId } },
          signal,
        }),
      ),
  });

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Return the ids with those first that a person was identified with: anonymous ids are UUIDs. */
export const identifiedFirst = (ids: readonly string[]): string[] =>
  [...ids].sort((one, other) => Number(UUID.test(one)) - Number(UUID.test(other)));

export interface FlagNow {
  key: string;
  id: number | undefined;
  name: string;
  value: boolean | string;
  reason: string;
  condition: number | null;
  compared: readonly components["schemas"]["ComparedProperty"][];
  /** null: the flag is of persons */
  groupTypeIndex: number | null;
}

function groupTypeOf(filters: object | undefined): number | null {
  const { aggregation_group_type_index: index } = {
    aggregation_group_type_index: null,
    ...filters,
  };
  return typeof index === "number" ? index : null;
}

/** All flags, as they are for a distinct id at this moment. */
export const flagsNowQuery = (
  projectId: string,
  distinctId: string,
  groups: Record<string, string>,
  deviceId: string | null,
) =>
  queryOptions({
    queryKey: ["flags", projectId, "reasons", distinctId, groups, deviceId],
    queryFn: async ({ signal }): Promise<FlagNow[]> => {
      const path = { project_id: projectId };
      const query = {
        distinct_id: distinctId,
        groups: JSON.stringify(groups),
        compared: true,
        ...(deviceId !== null && { device_id: deviceId }),
      };
      const [reasons, flags] = await Promise.all([
        dataOf(
          api.GET("/api/projects/{project_id}/feature_flags/evaluation_reasons/", {
            params: { path, query },
            signal,
          }),
        ),
        dataOf(
          api.GET("/api/projects/{project_id}/feature_flags/", {
            params: { path, query: { limit: FLAGS_MAX } },
            signal,
          }),
        ),
      ]);
      const known = new Map(flags.results.map((flag) => [flag.key, flag]));
      return Object.entries(reasons).map(([key, { value, evaluation }]) => ({
        key,
        id: known.get(key)?.id,
        name: known.get(key)?.name ?? "",
        value,
        reason: evaluation.reason,
        condition: evaluation.condition_index,
        compared: evaluation.compared ?? [],
        groupTypeIndex: groupTypeOf(known.get(key)?.filters),
      }));
    },
    placeholderData: keepPreviousData,
  });

export const personActivityQuery = (projectId: string, personId: string, page: number) =>
  queryOptions({
    queryKey: ["persons", projectId, "activity", personId, page],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/persons/{id}/activity/", {
          params: {
            path: { project_id: projectId, id: personId },
            query: { page, limit: ACTIVITY_PAGE },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });

export const mergePreviewQuery = (projectId: string, personId: string, ids: readonly string[]) =>
  queryOptions({
    // Not below "persons": what was merged cannot be previewed again.
    queryKey: ["merge preview", projectId, personId, ids],
    queryFn: ({ signal }) =>
      dataOf(
        api.POST("/api/projects/{project_id}/persons/{id}/merge/preview/", {
          params: { path: { project_id: projectId, id: personId } },
          body: { ids: [...ids] },
          signal,
        }),
      ),
    enabled: ids.length > 0,
    staleTime: 0,
  });

export const personMergesQuery = (projectId: string, personId: string) =>
  infiniteQueryOptions({
    queryKey: ["persons", projectId, "merges", personId],
    queryFn: ({ pageParam, signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/persons/{id}/merges/", {
          params: {
            path: { project_id: projectId, id: personId },
            query: { limit: PAGE, offset: pageParam },
          },
          signal,
        }),
      ),
    initialPageParam: 0,
    getNextPageParam: (page, pages) => (page.next === null ? null : pages.length * PAGE),
  });

export const splitPreviewQuery = (projectId: string, personId: string, ids: readonly string[]) =>
  queryOptions({
    // Not below "persons": what was split off cannot be previewed again.
    queryKey: ["split preview", projectId, personId, ids],
    queryFn: ({ signal }) =>
      dataOf(
        api.POST("/api/projects/{project_id}/persons/{id}/split/preview/", {
          params: { path: { project_id: projectId, id: personId } },
          body: { distinct_ids_to_split: [...ids] },
          signal,
        }),
      ),
    staleTime: 0,
  });

const TYPED_MAX = 60;
// Letters, digits and signs that a keyboard has; nothing that is not seen.
const TYPEABLE = /^[\p{L}\p{N}\p{P}\p{S}]+( [\p{L}\p{N}\p{P}\p{S}]+)*$/u;

/** Return the text that confirms a deletion: the name, or the id if the name cannot be typed. */
export function typedName(person: Pick<Person, "name" | "id">): string {
  const canBeTyped = person.name.length <= TYPED_MAX && TYPEABLE.test(person.name);
  return canBeTyped ? person.name : person.id;
}

export function emailOf(person: Pick<Person, "properties">): string {
  const { email } = person.properties;
  return typeof email === "string" ? email : "";
}

/** The name in its properties, where the API calls a person by the e-mail address. */
export function fullNameOf(person: Pick<Person, "properties" | "name">): string {
  const { name } = person.properties;
  return typeof name === "string" && name !== person.name ? name : "";
}
