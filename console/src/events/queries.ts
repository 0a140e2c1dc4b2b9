import { queryOptions } from "@tanstack/react-query";
import { api, dataOf } from "@/lib/api";
import type { components } from "@/lib/schema";
import { names } from "./uses";

export type Definition = components["schemas"]["EventDefinitionBody"];
export type PropertyDefinition = components["schemas"]["PropertyDefinitionBody"];
export type Volumes = components["schemas"]["VolumesBody"];

const DEFINITIONS = 10_000;
const PROPERTIES = 10_000;
const ITEMS = 1000;
const SLOW_MS = 60_000;

const path = (projectId: string) => ({ project_id: projectId });
const one = (projectId: string, definitionId: string) => ({
  project_id: projectId,
  id: definitionId,
});

export const eventsKey = (projectId: string) => ["events", projectId] as const;

export const definitionsQuery = (projectId: string) =>
  queryOptions({
    queryKey: [...eventsKey(projectId), "list"],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/event_definitions/", {
          params: { path: path(projectId), query: { limit: DEFINITIONS } },
          signal,
        }),
      ),
  });

/** The volume of all events by day. */
export const volumesQuery = (projectId: string) =>
  queryOptions({
    queryKey: [...eventsKey(projectId), "volumes"],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/event_definitions/volumes/", {
          params: { path: path(projectId) },
          signal,
        }),
      ),
    staleTime: SLOW_MS,
  });

export const definitionQuery = (projectId: string, id: string) =>
  queryOptions({
    queryKey: [...eventsKey(projectId), id],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/event_definitions/{id}/", {
          params: { path: one(projectId, id) },
          signal,
        }),
      ),
  });

export const activityQuery = (projectId: string, id: string, page: number) =>
  queryOptions({
    queryKey: [...eventsKey(projectId), id, "activity", page],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/event_definitions/{id}/activity/", {
          params: { path: one(projectId, id), query: { page } },
          signal,
        }),
      ),
  });

/** Whom users can name as owners: by name, with the e-mail address. */
export const ownersQuery = queryOptions({
  queryKey: ["owners"],
  queryFn: async ({ signal }) => {
    const page = await dataOf(
      api.GET("/api/organizations/{organization}/members/", {
        params: { path: { organization: "@current" }, query: { limit: ITEMS } },
        signal,
      }),
    );
    return page.results.map(({ user }) => ({
      value: String(user.id),
      label: user.first_name || user.email,
      description: user.email,
    }));
  },
});

/** The definitions of properties of persons, or of the groups of a type. */
export const actorDefinitionsQuery = (projectId: string, groupType?: number) =>
  queryOptions({
    queryKey: ["properties", projectId, "actors", groupType ?? null],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/property_definitions/", {
          params: {
            path: path(projectId),
            query: {
              limit: PROPERTIES,
              ...(groupType === undefined
                ? { type: "person" }
                : { type: "group", group_type_index: groupType }),
            },
          },
          signal,
        }),
      ),
  });

/** event: only those that this event carries */
export const propertiesQuery = (projectId: string, event?: string) =>
  queryOptions({
    queryKey: ["properties", projectId, event ?? null],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/property_definitions/", {
          params: {
            path: path(projectId),
            query: {
              limit: PROPERTIES,
              ...(event !== undefined && { event_names: JSON.stringify([event]) }),
            },
          },
          signal,
        }),
      ),
  });

/** The most frequent values of a property of events. event: only of this one */
export const valuesQuery = (projectId: string, key: string, event?: string) =>
  queryOptions({
    queryKey: ["properties", projectId, "values", key, event ?? null],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/events/values/", {
          params: {
            path: path(projectId),
            query: { key, ...(event !== undefined && { event_name: [event] }) },
          },
          signal,
        }),
      ),
    staleTime: SLOW_MS,
  });

/** Cohorts and insights that name the event. */
export const usesQuery = (projectId: string, event: string) =>
  queryOptions({
    queryKey: [...eventsKey(projectId), "uses", event],
    queryFn: async ({ signal }) => {
      const params = { path: path(projectId), query: { limit: ITEMS } };
      const [cohorts, insights] = await Promise.all([
        dataOf(api.GET("/api/projects/{project_id}/cohorts/", { params, signal })),
        dataOf(api.GET("/api/projects/{project_id}/insights/", { params, signal })),
      ]);
      return {
        cohorts: cohorts.results.filter(({ filters, groups }) => names([filters, groups], event)),
        insights: insights.results.filter(({ filters, query }) => names([filters, query], event)),
      };
    },
  });
