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
