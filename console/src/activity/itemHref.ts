import { prefix } from "@/lib/prefix";
import type { ActivityEntry } from "./describe";

// Screens of what the activity log is about; what is deleted has none any more.
const FOLDERS: Record<string, string> = {
  FeatureFlag: "flags",
  Cohort: "cohorts",
  Segment: "segments",
  Action: "actions",
  Experiment: "experiments",
  EventDefinition: "events",
  Person: "persons",
  Insight: "insights",
  Dashboard: "dashboards",
};
const LISTS: Record<string, (projectId: string) => string> = {
  PropertyDefinition: (projectId) => `/project/${projectId}/properties`,
  Project: (projectId) => `/project/${projectId}/settings`,
  Annotation: (projectId) => `/project/${projectId}/annotations`,
  BatchExport: (projectId) => `/project/${projectId}/exports`,
  Webhook: (projectId) => `/project/${projectId}/settings?tab=webhooks`,
  Role: () => "/organization?tab=roles",
  ResourceAccess: () => "/organization?tab=roles",
  OrganizationInvite: () => "/organization?tab=invites",
  OrganizationMembership: () => "/organization",
  Organization: () => "/organization",
};

/** Return the address of the page of the item that an entry is about, or of the list it is in. */
export function itemHref(
  projectId: string,
  { scope, item_id: id, activity }: ActivityEntry,
): string | undefined {
  const folder = FOLDERS[scope];
  if (activity === "deleted") return undefined;
  if (folder !== undefined) return `${prefix}/project/${projectId}/${folder}/${id}`;
  const list = LISTS[scope]?.(projectId);
  return list === undefined ? undefined : prefix + list;
}
