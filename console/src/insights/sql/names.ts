import { queryOptions } from "@tanstack/react-query";
import { api, dataOf } from "@/lib/api";
import type { components } from "@/lib/schema";
import type { NamesOfSql } from "./completions";

type Schema = components["schemas"]["SqlSchemaBody"];

const PROPERTIES = 10_000;
const PERSONS = 100;

/** The tables, functions and properties that can be completed. */
export const namesQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["sql names", projectId],
    queryFn: async ({ signal }): Promise<NamesOfSql> => {
      const [schema, events, persons] = await Promise.all([
        readSchema(projectId, signal),
        readEventProperties(projectId, signal),
        readPersonProperties(projectId, signal),
      ]);
      const tables = Object.values(schema.tables).map(({ name, fields }) => [
        name,
        Object.values(fields).map((column) => ({ name: column.name, type: column.type })),
      ]);
      return { tables: Object.fromEntries(tables), functions: schema.functions, events, persons };
    },
    staleTime: 5 * 60_000,
    retry: false,
  });

async function readSchema(projectId: string, signal: AbortSignal): Promise<Schema> {
  const query = { kind: "DatabaseSchemaQuery" } as unknown as components["schemas"]["InsightQuery"];
  const answer = await dataOf(
    api.POST("/api/projects/{project_id}/query/", {
      params: { path: { project_id: projectId } },
      body: { query },
      signal,
    }),
  );
  return answer as Schema;
}

async function readEventProperties(
  projectId: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const page = await dataOf(
    api.GET("/api/projects/{project_id}/property_definitions/", {
      params: { path: { project_id: projectId }, query: { limit: PROPERTIES } },
      signal,
    }),
  );
  return page.results.map(({ name }) => name);
}

/** Properties of persons have no definitions: those of the newest persons. */
async function readPersonProperties(
  projectId: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const page = await dataOf(
    api.GET("/api/projects/{project_id}/persons/", {
      params: { path: { project_id: projectId }, query: { limit: PERSONS } },
      signal,
    }),
  );
  return [...new Set(page.results.flatMap(({ properties }) => Object.keys(properties)))];
}
