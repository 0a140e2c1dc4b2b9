import { queryOptions } from "@tanstack/react-query";
import { api, dataOf } from "@/lib/api";
import { words } from "@/words/events";

const SAMPLE = 100;

/** types: those seen; seen: at how many of the sample */
export interface SampledProperty {
  name: string;
  types: string[];
  seen: number;
}

export interface Sampled {
  properties: SampledProperty[];
  size: number;
}

/** The server keeps no list of properties of persons: those of the newest are read. */
export const personPropertiesQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["properties", projectId, "persons"],
    queryFn: async ({ signal }) => {
      const page = await dataOf(
        api.GET("/api/projects/{project_id}/persons/", {
          params: { path: { project_id: projectId }, query: { limit: SAMPLE } },
          signal,
        }),
      );
      return sampled(page.results.map((person) => person.properties));
    },
  });

export const groupPropertiesQuery = (projectId: string, type: number) =>
  queryOptions({
    queryKey: ["properties", projectId, "groups", type],
    queryFn: async ({ signal }) => {
      const page = await dataOf(
        api.GET("/api/projects/{project_id}/groups/", {
          params: {
            path: { project_id: projectId },
            query: { group_type_index: String(type), limit: SAMPLE },
          },
          signal,
        }),
      );
      return sampled(page.results.map((group) => group.group_properties));
    },
  });

export const groupTypesQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["properties", projectId, "group types"],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/groups_types/", {
          params: { path: { project_id: projectId } },
          signal,
        }),
      ),
    staleTime: 60_000,
  });

export const personValuesQuery = (projectId: string, key: string) =>
  queryOptions({
    queryKey: ["properties", projectId, "persons", "values", key],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/persons/values/", {
          params: { path: { project_id: projectId }, query: { key } },
          signal,
        }),
      ),
  });

export const groupValuesQuery = (projectId: string, type: number, key: string) =>
  queryOptions({
    queryKey: ["properties", projectId, "groups", type, "values", key],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/groups/property_values/", {
          params: {
            path: { project_id: projectId },
            query: { group_type_index: String(type), key },
          },
          signal,
        }),
      ),
  });

/** Names with their types, those of most items first. */
function sampled(items: readonly Record<string, unknown>[]): Sampled {
  const found = new Map<string, { types: Set<string>; seen: number }>();
  for (const item of items) {
    for (const [name, value] of Object.entries(item)) {
      const known = found.get(name) ?? { types: new Set(), seen: 0 };
      known.types.add(typeOf(value));
      found.set(name, { types: known.types, seen: known.seen + 1 });
    }
  }
  const properties = [...found].map(([name, { types, seen }]) => ({
    name,
    types: [...types],
    seen,
  }));
  return { properties: properties.toSorted((a, b) => b.seen - a.seen), size: items.length };
}

/** A type in words. */
export function typeName(type: string | null): string {
  const found = Object.entries(words.types).find(([name]) => name === type);
  return found?.[1] ?? words.types.unknown;
}

/** Return the type of a value, named as in property definitions. */
function typeOf(value: unknown): string {
  if (Array.isArray(value)) return "list";
  switch (typeof value) {
    case "number":
      return "Numeric";
    case "boolean":
      return "Boolean";
    case "string":
      return "String";
    default:
      return value === null ? "unknown" : "object";
  }
}

const OF_FLAG = "$feature/";

/** Return the type of a property of events: the server notes none for booleans, lists and objects. */
export function definedType(property: { name: string; property_type: string | null }): string {
  if (property.property_type !== null) return typeName(property.property_type);
  return property.name.startsWith(OF_FLAG) ? words.types.Boolean : words.types.notScalar;
}
