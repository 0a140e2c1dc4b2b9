import type { components } from "@/lib/schema";
import { words } from "@/words/activity";
import { type Change, describeChange, isIdle, isTold } from "./describeChange";

export type ActivityEntry = components["schemas"]["ActivityEntry"];

/** Return the author of an entry: a person, an automation, or the server. */
export function actorOf({ user, detail }: ActivityEntry): string {
  if (detail.trigger) return words.byTrigger[detail.trigger.job_type];
  if (user.is_system) return words.system;
  const name = user.first_name.trim() || user.email;
  return name || words.deletedUser;
}

/** Return the changes of an entry, one line each, or one line for the whole entry. */
export function actionsOf(entry: ActivityEntry): string[] {
  if (entry.activity !== "updated") return [headlineOf(entry)];
  const changes = (entry.detail.changes ?? []).filter((change) => !isIdle(change));
  return changes.length === 0 ? [headlineOf(entry)] : changes.map(describeChange);
}

/** Return whether an entry has changes that its sentences do not describe in full. */
export function hasDifference({ activity, detail }: ActivityEntry): boolean {
  const changes = detail.changes ?? [];
  if (activity === "people_merged_into" || activity === "split_person") return changes.length > 0;
  return activity === "updated" && changes.some((change) => !isIdle(change) && !isTold(change));
}

/** The kind of change and of the item: "changed the flag"; "signed in (password)". */
export function headlineOf({ activity, scope, detail, user }: ActivityEntry): string {
  const isOwn = user.email === detail.name;
  const usual = words.headlines[`${scope} ${activity}${isOwn ? " own" : ""}`];
  if (usual !== undefined) return usual;
  const what = words.scopes[scope] ?? scope;
  const changes = detail.changes ?? [];
  switch (activity) {
    case "deleted":
      return changes.length === 0
        ? words.deleted(what)
        : words.deletedWith(what, contentsOf(changes));
    case "created":
    case "updated":
    case "imported":
      return words[activity](what);
  }
  const action = words.activities[activity];
  if (action === undefined) return words.did(activity, what);
  const values = scope === "User" ? circumstancesOf(changes) : "";
  return values === "" ? action : words.circumstances(action, values);
}

/** Return what was deleted with a project: "4 events, 2 persons". */
function contentsOf(changes: readonly Change[]): string {
  return changes
    .map(({ field, after }) => words.contents[field]?.(Number(after)) ?? `${after} ${field}`)
    .join(", ");
}

/** Return the details of an entry, such as the method and the address of a sign-in. */
function circumstancesOf(changes: readonly Change[]): string {
  return changes
    .map(({ after }) => after)
    .filter((value) => typeof value === "string" || typeof value === "number")
    .join(", ");
}
