import { queryOptions } from "@tanstack/react-query";
import { api, dataOf } from "@/lib/api";

/** Return when a person last did an event, or null if no such event is stored. */
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
