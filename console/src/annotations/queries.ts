import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import type { components } from "@/lib/schema";

export type Annotation = components["schemas"]["AnnotationRecord"];
export type NewAnnotation = components["schemas"]["NewAnnotation"];
export type AnnotationChanges = components["schemas"]["AnnotationChanges"];

const PAGE = 1000;
const FRESH_MS = 60_000;

const keyOf = (projectId: string) => ["annotations", projectId] as const;

interface Selection {
  deleted?: boolean;
  date_from?: string;
  date_to?: string;
}

/** All annotations that a project sees, with the latest moment first. */
export const annotationsQuery = (projectId: string, selection: Selection = {}) =>
  queryOptions({
    queryKey: [...keyOf(projectId), selection],
    queryFn: async ({ signal }) => {
      const found: Annotation[] = [];
      let hasMore = true;
      while (hasMore) {
        const page = await dataOf(
          api.GET("/api/projects/{project_id}/annotations/", {
            params: {
              path: { project_id: projectId },
              query: { limit: PAGE, offset: found.length, ...selection },
            },
            signal,
          }),
        );
        found.push(...page.results);
        hasMore = page.next !== null;
      }
      return found;
    },
    staleTime: FRESH_MS,
  });

function useAnnotationAct<Given>(act: (project_id: string, given: Given) => Promise<Annotation>) {
  const queries = useQueryClient();
  const projectId = useProjectId();
  return useMutation({
    mutationFn: (given: Given) => act(projectId, given),
    onSettled: () => queries.invalidateQueries({ queryKey: keyOf(projectId) }),
  });
}

export const useAnnotationCreation = () =>
  useAnnotationAct((project_id, body: NewAnnotation) =>
    dataOf(
      api.POST("/api/projects/{project_id}/annotations/", {
        params: { path: { project_id } },
        body,
      }),
    ),
  );

export const useAnnotationChange = (id: number) =>
  useAnnotationAct((project_id, body: AnnotationChanges) =>
    dataOf(
      api.PATCH("/api/projects/{project_id}/annotations/{id}/", {
        params: { path: { project_id, id } },
        body,
      }),
    ),
  );
