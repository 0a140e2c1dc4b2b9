import { api, dataOf } from "@/lib/api";
import type { OptionSource } from "@/ui/combobox";
import { plainName } from "@/ui/properties";
import { words } from "@/words/filters";

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
      return found.results.map((one) => {
        const plain = plainName(one.name);
        const description = one.description || (plain === one.name ? "" : plain);
        return {
          value: one.name,
          ...(description !== "" && { description }),
          ...(one.verified && { hint: words.verified }),
        };
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
        exclude_hidden: true,
        ...(search && { search }),
        ...(event !== null && { event_names: JSON.stringify([event]) }),
      };
      const found = await dataOf(
        api.GET("/api/projects/{project_id}/property_definitions/", {
          params: { path: { project_id: projectId }, query },
          signal,
        }),
      );
      return found.results.map(({ name, description, verified }) => ({
        value: name,
        ...(description !== "" && { description }),
        ...(verified && { hint: words.verified }),
      }));
    },
  };
}
