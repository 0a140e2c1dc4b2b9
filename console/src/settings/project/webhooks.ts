import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import type { components } from "@/lib/schema";
import type { Webhook } from "../queries";

type Changes = components["schemas"]["WebhookChanges"];
export type WebhookEvent = Webhook["events"][number];

export const WEBHOOK_EVENTS: readonly WebhookEvent[] = [
  "feature_flag.created",
  "feature_flag.updated",
  "feature_flag.deleted",
  "feature_flag.rolled_back",
  "cohort.created",
  "cohort.updated",
  "cohort.deleted",
  "event.captured",
  "insight.alert",
  "experiment.verdict",
];

function useWebhookAct<Given, Answer>(act: (projectId: string, given: Given) => Promise<Answer>) {
  const queries = useQueryClient();
  const projectId = useProjectId();
  return useMutation({
    mutationFn: (given: Given) => act(projectId, given),
    onSettled: () => queries.invalidateQueries({ queryKey: ["webhooks", projectId] }),
  });
}

export const useWebhookCreation = () =>
  useWebhookAct((project_id, body: { url: string; events: WebhookEvent[] }) =>
    dataOf(
      api.POST("/api/projects/{project_id}/webhooks/", { params: { path: { project_id } }, body }),
    ),
  );

export const useWebhookChange = (webhookId: number) =>
  useWebhookAct((project_id, body: Changes) =>
    dataOf(
      api.PATCH("/api/projects/{project_id}/webhooks/{id}/", {
        params: { path: { project_id, id: webhookId } },
        body,
      }),
    ),
  );

export const useSecretRotation = (webhookId: number) =>
  useWebhookAct((project_id, _: undefined) =>
    dataOf(
      api.POST("/api/projects/{project_id}/webhooks/{id}/rotate_secret/", {
        params: { path: { project_id, id: webhookId } },
        body: {},
      }),
    ),
  );

export const useWebhookDeletion = (webhookId: number) =>
  useWebhookAct((project_id, _: undefined) =>
    dataOf(
      api.DELETE("/api/projects/{project_id}/webhooks/{id}/", {
        params: { path: { project_id, id: webhookId } },
      }),
    ),
  );
