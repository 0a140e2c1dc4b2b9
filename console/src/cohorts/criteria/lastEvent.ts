import { queryOptions } from "@tanstack/react-query";
import { api, dataOf } from "@/lib/api";

/** When a person did an event last; null: never, in what is stored. */
export const lastEventQuery = (projectId: string, personId: string, event: string) =>
  queryOptions({
    queryKey: ["events", projectId, "last", personId, event],
    queryFn: async ({ signal }) => {
      const page = await dataOf(
        api.GET("/api/projects/{project_id}/events/", {
          params: {
            path: { project_id: projectId },
            query: { person_id: personId, event, limit: "1" },
          },
          signal,
        }),
      );
      return page.results[0]?.timestamp ?? null;
    },
    staleTime: 60_000,
  });
