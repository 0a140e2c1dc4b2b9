import { queryOptions, useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { api, dataOf, publicApi } from "@/lib/api";
import { everyRow, queryOf } from "@/lib/paging";
import type { components } from "@/lib/schema";
import { isText, readStored } from "@/lib/storage";

export type Me = components["schemas"]["MeBody"];
export type Project = components["schemas"]["ProjectBody"];

// source: the server's levels of membership
export const LEVELS = { viewer: 0, member: 1, admin: 8, owner: 15 } as const;

/** The key under which the browser stores the project shown last. */
export const LAST_PROJECT = "project";

/** The signed-in user. Asked without the dialog for ended sessions: 401 leads to the sign-in page. */
export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: ({ signal }) => dataOf(publicApi.GET("/api/users/@me/", { signal })),
  staleTime: 60_000,
});

const PROJECTS_OF_A_PAGE = 1000;

/** All projects of the user. */
export const projectsQuery = queryOptions({
  queryKey: ["projects"],
  queryFn: async ({ signal }) => {
    const read = (next: string | null) => {
      const query = next === null ? { limit: PROJECTS_OF_A_PAGE } : queryOf(next);
      return dataOf(api.GET("/api/projects/", { params: { query }, signal }));
    };
    const projects: Project[] = [];
    for await (const project of everyRow(read)) projects.push(project);
    return projects;
  },
  staleTime: 60_000,
});

/** The organization of the user's current project. */
export const organizationQuery = queryOptions({
  queryKey: ["organization"],
  queryFn: ({ signal }) =>
    dataOf(
      api.GET("/api/organizations/{organization}/", {
        params: { path: { organization: "@current" } },
        signal,
      }),
    ),
});

export const preflightQuery = queryOptions({
  queryKey: ["preflight"],
  queryFn: ({ signal }) => dataOf(publicApi.GET("/_preflight/", { signal })),
  staleTime: 60_000,
});

export const useMe = (): Me => useSuspenseQuery(meQuery).data;

/** The id of the project in the address, as the paths of the API take it. Where the address names
 * none, that of the project which was shown last.
 */
export function useProjectId(): string {
  const me = useMe();
  const shown = useParams({ strict: false, select: (params) => params.projectId });
  return shown ?? readStored(LAST_PROJECT, String(me.project?.id ?? "@current"), isText);
}

export const useProjects = (): Project[] => useQuery(projectsQuery).data ?? [];

/** undefined while the projects are being read */
export function useProject(): Project | undefined {
  const id = useProjectId();
  return useProjects().find((one) => String(one.id) === id);
}

/** Return whether the address names a project that does not exist or is not one of the user's. */
export function useIsUnknownProject(): boolean {
  const shown = useParams({ strict: false, select: (params) => params.projectId });
  const { data } = useQuery(projectsQuery);
  if (shown === undefined || shown === "@current" || data === undefined) return false;
  return !data.some((project) => String(project.id) === shown);
}

/** The level of the user in the organization of the project in the address. */
export function useLevel(): number {
  const me = useMe();
  const project = useProject();
  const organization = me.organizations.find((one) => one.id === project?.organization);
  return (organization ?? me.organization)?.membership_level ?? LEVELS.viewer;
}

/** Return whether the user may change things. A viewer's controls are shown but disabled. */
export const useCanEdit = (): boolean => useLevel() >= LEVELS.member;
export const useIsAdmin = (): boolean => useLevel() >= LEVELS.admin;
