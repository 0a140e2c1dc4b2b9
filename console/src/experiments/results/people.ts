import { type ActorsSource, pageOf, pageParameters } from "@/insights";
import { api, dataOf } from "@/lib/api";
import { words } from "@/words/experimentResults";

/** A number in the results of an experiment. */
export interface Place {
  /** A variant, or why people were left out. */
  variant: string;
  /** The uuid of a metric; undefined: exposures. */
  metric?: string;
  converted?: boolean;
  /** undefined: the last one */
  phase?: number | undefined;
}

/** description: the number in words */
export type OpenPeople = (place: Place, description: string) => void;

/** The people behind a number in the results of an experiment. */
export const peopleBehind = (id: number, { phase, ...rest }: Place): ActorsSource => {
  const place = { ...rest, ...(phase !== undefined && { phase }) };
  return {
    key: ["experiment", id, place],
    valueHeader: place.metric === undefined ? words.exposedAt : words.columns.value,
    read: async (projectId, { signal, ...options }) => {
      const page = await dataOf(
        api.GET("/api/projects/{project_id}/experiments/{id}/people/", {
          params: {
            path: { project_id: projectId, id },
            query: { ...place, ...pageParameters(options) },
          },
          signal,
        }),
      );
      // The same URL returns CSV if the request asks for it.
      if (typeof page === "string") throw new TypeError("people came as a table");
      return pageOf(page);
    },
    createCohort: (projectId, name) =>
      dataOf(
        api.POST("/api/projects/{project_id}/experiments/{id}/people/save_as_cohort/", {
          params: { path: { project_id: projectId, id } },
          body: { ...place, name },
        }),
      ),
  };
};
