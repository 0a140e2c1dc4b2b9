import { api, dataOf } from "@/lib/api";
import type { OptionSource } from "@/ui/combobox";
import { plainName } from "@/ui/properties";

const NAMES_MAX = 50;

/** Names of events of the project that are not hidden, those seen last first. */
export function eventOptions(projectId: string): OptionSource {
  return {
    key: ["event names", projectId],
    load: async (search, signal) => {
      const found = await dataOf(
        api.GET("/api/projects/{project_id}/event_definitions/", {
          params: {
            path: { project_id: projectId },
            query: { limit: NAMES_MAX, exclude_hidden: true, ...(search && { search }) },
          },
          signal,
        }),
      );
      return found.results.map(({ name }) => {
        const plain = plainName(name);
        return plain === name ? { value: name } : { value: name, description: plain };
      });
    },
  };
}

/** Names of the properties that an event was sent with. */
export function propertyOptions(projectId: string, event: string | null): OptionSource {
  return {
    key: ["event properties", projectId, event],
    load: async (search, signal) => {
      const query = {
        limit: NAMES_MAX,
        ...(search && { search }),
        ...(event !== null && { event_names: JSON.stringify([event]) }),
      };
      const found = await dataOf(
        api.GET("/api/projects/{project_id}/property_definitions/", {
          params: { path: { project_id: projectId }, query },
          signal,
        }),
      );
      return found.results.map(({ name }) => ({ value: name }));
    },
  };
}
