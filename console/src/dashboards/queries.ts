import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { loadPart } from "@/lib/parts";
import type { components } from "@/lib/schema";

export type Dashboard = components["schemas"]["DashboardBody"];
export type Tile = components["schemas"]["TileBody"];
export type DashboardChanges = components["schemas"]["DashboardChanges"];

const PATH = "/api/projects/{project_id}/dashboards/{id}/";

export const dashboardKeys = {
  all: (projectId: string) => ["dashboards", projectId] as const,
  one: (projectId: string, id: number) => ["dashboards", projectId, "one", id] as const,
};

/** A dashboard with its tiles' own queries, and their cached answers within the dashboard's scope. */
export const dashboardQuery = (projectId: string, id: number) =>
  queryOptions({
    queryKey: dashboardKeys.one(projectId, id),
    queryFn: async ({ client, signal }) => {
      const [dashboard, { loadStored }] = await Promise.all([
        dataOf(
          api.GET(PATH, {
            params: { path: { project_id: projectId, id }, query: { own_questions: true } },
            signal,
          }),
        ),
        loadReader(),
      ]);
      // Tiles that are drawn once take half the time of tiles that wait for their parts.
      await loadStored(
        client,
        dashboard.tiles.flatMap(({ insight }) => insight ?? []),
      );
      return dashboard;
    },
  });

/** Load what reads stored insights, which is too large for the first load. */
export const loadReader = () => loadPart(() => import("./reader"));

/** Read a dashboard without answers. */
export const readDashboard = (projectId: string, id: number) =>
  dataOf(
    api.GET(PATH, { params: { path: { project_id: projectId, id }, query: { basic: true } } }),
  );

export const deletedDashboardsQuery = (projectId: string) =>
  queryOptions({
    queryKey: [...dashboardKeys.all(projectId), "deleted"],
    queryFn: async ({ signal }) => {
      const page = await dataOf(
        api.GET("/api/projects/{project_id}/dashboards/", {
          params: { path: { project_id: projectId }, query: { deleted: true, limit: 1000 } },
          signal,
        }),
      );
      return page.results;
    },
  });

export const sendChanges = (projectId: string, id: number, changes: DashboardChanges) =>
  dataOf(
    api.PATCH(PATH, {
      params: { path: { project_id: projectId, id } },
      body: changes,
    }),
  );

/** Changes a dashboard, then refetches dashboards and insights. */
export function useDashboardChange(id: number) {
  const projectId = useProjectId();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (changes: DashboardChanges) => sendChanges(projectId, id, changes),
    onSuccess: (changed) => {
      const gone = changed.deleted ? id : undefined;
      void queries.invalidateQueries({ queryKey: ["insights", projectId] });
      return queries.invalidateQueries({
        queryKey: dashboardKeys.all(projectId),
        predicate: ({ queryKey }) => queryKey[2] !== "one" || queryKey[3] !== gone,
      });
    },
  });
}

/** Creates a copy with the same insights in the same positions. */
export async function duplicateDashboard(projectId: string, from: Dashboard, name: string) {
  const { description, filters, tags } = from;
  const made = await dataOf(
    api.POST("/api/projects/{project_id}/dashboards/", {
      params: { path: { project_id: projectId } },
      body: { name, description, filters, tags: tags.filter((tag) => tag !== "feature flags") },
    }),
  );
  for (const { insight } of from.tiles) {
    if (insight === null) continue;
    await dataOf(
      api.PATCH("/api/projects/{project_id}/insights/{id}/", {
        params: { path: { project_id: projectId, id: insight.id } },
        body: { dashboards: [...insight.dashboards, made.id] },
      }),
    );
  }
  const placed = await readDashboard(projectId, made.id);
  const insights = placed.tiles.flatMap(({ id, insight }) => {
    const source = from.tiles.find((one) => one.insight?.id === insight?.id);
    return source === undefined ? [] : [{ id, layouts: source.layouts, color: source.color }];
  });
  const texts = from.tiles.flatMap(({ text, layouts, color }) =>
    text === null ? [] : [{ text: { body: text.body }, layouts, color }],
  );
  const tiles = [...insights, ...texts];
  if (tiles.length > 0) await sendChanges(projectId, made.id, { tiles });
  return made;
}
