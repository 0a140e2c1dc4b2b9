import type { ActivityEntry } from "@/activity";
import type { components } from "@/lib/schema";
import { type Flag, isSame } from "../model";
import { type FlagChanges, filtersToSend } from "../queries";

export type Change = components["schemas"]["Change"];

// What a version of a flag consists of. Analytics dashboards are never removed, and deletion,
// roles and scheduled changes are not undone by going back to a version.
const FIELDS = [
  "key",
  "name",
  "filters",
  "active",
  "rollback_conditions",
  "ensure_experience_continuity",
  "tags",
  "bucketing_identifier",
  "evaluation_runtime",
  "evaluation_contexts",
] as const;
type Field = (typeof FIELDS)[number];

/** Return the changes that take the flag back to what it was after an entry.
 *
 * later: entries after that one, the newest first
 */
export function changesBack(flag: Flag, later: readonly ActivityEntry[]): Change[] {
  const found = new Map<Field, unknown>();
  for (const entry of later) {
    for (const { field, before } of entry.detail.changes ?? []) {
      const name = FIELDS.find((one) => one === field);
      if (name !== undefined) found.set(name, before);
    }
  }
  return [...found]
    .map(([field, after]) => ({
      type: "FeatureFlag",
      action: "changed" as const,
      field,
      before: flag[field] ?? null,
      after: after ?? null,
    }))
    .filter(({ before, after }) => !isSame(before, after));
}

/** The request that makes these changes. throws: Error for filters that no flag may have now */
export function changesToSend(changes: readonly Change[], version: number): FlagChanges {
  const sent = Object.fromEntries(
    changes.map(({ field, after }) => [
      field,
      field === "filters" ? filtersToSend(after) : (after ?? nothingOf(field)),
    ]),
  );
  return { ...sent, version };
}

/** A field that was never set is not stored but must be sent. */
function nothingOf(field: string): unknown {
  if (field === "name") return "";
  return field === "tags" ? [] : null;
}

/** Entries have no id. */
export function placeOf(entry: ActivityEntry, entries: readonly ActivityEntry[]): number {
  return entries.findIndex(
    (one) =>
      one.created_at === entry.created_at &&
      one.activity === entry.activity &&
      isSame(one.detail.changes, entry.detail.changes),
  );
}
