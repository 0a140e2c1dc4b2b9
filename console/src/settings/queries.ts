import { queryOptions } from "@tanstack/react-query";
import { api, dataOf } from "@/lib/api";
import type { components } from "@/lib/schema";

export type Member = components["schemas"]["OrganizationMember"];
export type Invite = components["schemas"]["InviteBody"];
export type Role = components["schemas"]["Role"];
export type Session = components["schemas"]["SessionBody"];
export type PersonalKey = components["schemas"]["KeyBody"];
export type Webhook = components["schemas"]["WebhookBody"];
export type Delivery = components["schemas"]["DeliveryBody"];

// source: the server's levels of access to flags
export const ACCESS = { view: 21, edit: 37 } as const;
export type AccessLevel = (typeof ACCESS)[keyof typeof ACCESS];

const PAGE = 100;
interface Page<Row> {
  next: string | null;
  results: Row[];
}

/** Every row of a list: settings have tens, and hundreds at most. */
async function allOf<Row>(page: (query: { limit: number; offset: number }) => Promise<Page<Row>>) {
  const rows: Row[] = [];
  for (;;) {
    const { results, next } = await page({ limit: PAGE, offset: rows.length });
    rows.push(...results);
    if (next === null || results.length === 0) return rows;
  }
}

const ofOrganization = { organization: "@current" };

export const membersQuery = queryOptions({
  queryKey: ["members"],
  queryFn: ({ signal }) =>
    allOf((query) =>
      dataOf(
        api.GET("/api/organizations/{organization}/members/", {
          params: { path: ofOrganization, query },
          signal,
        }),
      ),
    ),
});

export const invitesQuery = queryOptions({
  queryKey: ["invites"],
  queryFn: ({ signal }) =>
    allOf((query) =>
      dataOf(
        api.GET("/api/organizations/{organization}/invites/", {
          params: { path: ofOrganization, query },
          signal,
        }),
      ),
    ),
});

export const rolesQuery = queryOptions({
  queryKey: ["roles"],
  queryFn: ({ signal }) =>
    allOf((query) =>
      dataOf(
        api.GET("/api/organizations/{organization}/roles/", {
          params: { path: ofOrganization, query },
          signal,
        }),
      ),
    ),
});

const FLAGS = "feature flags";

/** What the organization lets all its members do with flags; null: it has not been set. */
export const defaultAccessQuery = queryOptions({
  queryKey: ["default access"],
  queryFn: async ({ signal }) => {
    const { results } = await dataOf(
      api.GET("/api/organizations/{organization}/resource_access/", {
        params: { path: ofOrganization, query: { limit: PAGE } },
        signal,
      }),
    );
    return results.find((one) => one.resource === FLAGS) ?? null;
  },
});

/** id: of the setting that is stored; undefined for the first one */
export const setDefaultAccess = (access_level: AccessLevel, id?: number) =>
  dataOf(
    id === undefined
      ? api.POST("/api/organizations/{organization}/resource_access/", {
          params: { path: ofOrganization },
          body: { resource: FLAGS, access_level },
        })
      : api.PATCH("/api/organizations/{organization}/resource_access/{setting_id}/", {
          params: { path: { ...ofOrganization, setting_id: id } },
          body: { access_level },
        }),
  );

export const sessionsQuery = queryOptions({
  queryKey: ["sessions"],
  queryFn: ({ signal }) =>
    allOf((query) => dataOf(api.GET("/api/sessions/", { params: { query }, signal }))),
});

export const secondFactorQuery = queryOptions({
  queryKey: ["second factor"],
  queryFn: ({ signal }) => dataOf(api.GET("/api/users/@me/two_factor_status/", { signal })),
});

export const keysQuery = queryOptions({
  queryKey: ["personal keys"],
  queryFn: ({ signal }) =>
    allOf((query) => dataOf(api.GET("/api/personal_api_keys/", { params: { query }, signal }))),
});

export const webhooksQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["webhooks", projectId],
    queryFn: ({ signal }) =>
      allOf((query) =>
        dataOf(
          api.GET("/api/projects/{project_id}/webhooks/", {
            params: { path: { project_id: projectId }, query },
            signal,
          }),
        ),
      ),
  });

export const deliveriesQuery = (projectId: string, webhookId: number) =>
  queryOptions({
    queryKey: ["webhooks", projectId, webhookId, "deliveries"],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/webhooks/{id}/deliveries/", {
          params: {
            path: { project_id: projectId, id: webhookId },
            query: { limit: PAGE },
          },
          signal,
        }),
      ),
    refetchInterval: 5_000,
  });
