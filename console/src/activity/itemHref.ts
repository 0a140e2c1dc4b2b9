import { prefix } from "@/lib/prefix";
import type { ActivityEntry } from "./describe";

// Screens of what the activity log is about; what is deleted has none any more.
const FOLDERS: Record<string, string> = {
  FeatureFlag: "flags",
  Cohort: "cohorts",
  EventDefinition: "events",
  Person: "persons",
};

/** Return the address of the page of the item that an entry is about. */
export function itemHref(
  projectId: string,
  { scope, item_id: id, activity }: ActivityEntry,
): string | undefined {
  const folder = FOLDERS[scope];
  if (folder === undefined || activity === "deleted") return undefined;
  return `${prefix}/project/${projectId}/${folder}/${id}`;
}
