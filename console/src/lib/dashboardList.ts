import { queryOptions } from "@tanstack/react-query";
import { api, dataOf } from "@/lib/api";
import type { components } from "@/lib/schema";

export type DashboardSummary = components["schemas"]["DashboardSummary"];

const ALL_MAX = 1000;
// The tag of dashboards that the server generates for flags.
const GENERATED_TAG = "feature flags";

export const dashboardsQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["dashboards", projectId, "list"],
    queryFn: async ({ signal }) => {
      const page = await dataOf(
        api.GET("/api/projects/{project_id}/dashboards/", {
          params: { path: { project_id: projectId }, query: { limit: ALL_MAX } },
          signal,
        }),
      );
      return page.results;
    },
    staleTime: 30_000,
  });

/** Return whether the server generated the dashboard to show a flag's usage. */
export const isGenerated = ({ name, tags }: Pick<DashboardSummary, "name" | "tags">): boolean =>
  tags.includes(GENERATED_TAG) && name.startsWith("Generated Dashboard: ");

export const createDashboard = (projectId: string, body: components["schemas"]["NewDashboard"]) =>
  dataOf(
    api.POST("/api/projects/{project_id}/dashboards/", {
      params: { path: { project_id: projectId } },
      body,
    }),
  );
