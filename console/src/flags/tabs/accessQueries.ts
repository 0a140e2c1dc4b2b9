import { queryOptions } from "@tanstack/react-query";
import { api, dataOf } from "@/lib/api";
import type { Flag } from "../model";
import { flagKeys } from "../queries";
import type { Rights, RoleAccess } from "./rights";

// A page size larger than any organization needs.
const ALL = 10_000;
const RESOURCE = "feature flags";

export const accessKey = (projectId: string, flagId: number) =>
  [...flagKeys.all(projectId), "access", flagId] as const;

export const rightsQuery = (projectId: string, organization: string, flag: Flag) =>
  queryOptions({
    queryKey: [...accessKey(projectId, flag.id), organization, flag.created_by?.id ?? null],
    queryFn: async ({ signal }): Promise<Rights> => {
      const of = { params: { path: { organization }, query: { limit: ALL } }, signal };
      const [members, roles, settings, given] = await Promise.all([
        dataOf(api.GET("/api/organizations/{organization}/members/", of)),
        dataOf(api.GET("/api/organizations/{organization}/roles/", of)),
        dataOf(api.GET("/api/organizations/{organization}/resource_access/", of)),
        dataOf(
          api.GET(
            "/api/projects/{project_id}/feature_flags/{parent_lookup_feature_flag_id}/role_access/",
            {
              params: {
                path: { project_id: projectId, parent_lookup_feature_flag_id: flag.id },
                query: { limit: ALL },
              },
              signal,
            },
          ),
        ),
      ]);
      const setting = settings.results.find((one) => one.resource === RESOURCE);
      return {
        members: members.results,
        roles: roles.results,
        given: given.results,
        setting: setting?.access_level ?? null,
        creatorId: flag.created_by?.id ?? null,
      };
    },
  });

export const giveRole = (projectId: string, flagId: number, roleId: string): Promise<RoleAccess> =>
  dataOf(
    api.POST(
      "/api/projects/{project_id}/feature_flags/{parent_lookup_feature_flag_id}/role_access/",
      {
        params: { path: { project_id: projectId, parent_lookup_feature_flag_id: flagId } },
        body: { role_id: roleId },
      },
    ),
  );

export const takeRole = (projectId: string, flagId: number, accessId: number): Promise<unknown> =>
  dataOf(
    api.DELETE(
      "/api/projects/{project_id}/feature_flags/{parent_lookup_feature_flag_id}/role_access/{id}/",
      {
        params: {
          path: { project_id: projectId, parent_lookup_feature_flag_id: flagId, id: accessId },
        },
      },
    ),
  );
