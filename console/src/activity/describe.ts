import type { components } from "@/lib/schema";
import { jsonDifferences } from "@/ui/jsonDiff";
import { words } from "@/words/activity";

export type ActivityEntry = components["schemas"]["ActivityEntry"];
export type Change = components["schemas"]["Change"];

/** Return the author of an entry: a person, an automation, or the server. */
export function actorOf({ user, detail }: ActivityEntry): string {
  if (detail.trigger) return words.byTrigger[detail.trigger.job_type];
  if (user.is_system) return words.system;
  const name = user.first_name.trim() || user.email;
  return name || words.deletedUser;
}

/** Return the changes of an entry, one line each, or one line for the whole entry. */
export function actionsOf(entry: ActivityEntry): string[] {
  const changes = entry.detail.changes ?? [];
  if (entry.activity !== "updated" || changes.length === 0) return [headlineOf(entry)];
  return changes.map(describeChange);
}

/** The kind of change and of the item: "changed the flag"; "signed in (password)". */
export function headlineOf({ activity, scope, detail }: ActivityEntry): string {
  const what = words.scopes[scope] ?? scope;
  switch (activity) {
    case "created":
    case "updated":
    case "deleted":
    case "imported":
      return words[activity](what);
  }
  const action = words.activities[activity];
  if (action === undefined) return words.did(activity, what);
  const values = scope === "User" ? circumstancesOf(detail.changes ?? []) : "";
  return values === "" ? action : words.circumstances(action, values);
}

/** Return the details of an entry, such as the method and the address of a sign-in. */
function circumstancesOf(changes: readonly Change[]): string {
  return changes
    .map(({ after }) => after)
    .filter((value) => typeof value === "string" || typeof value === "number")
    .join(", ");
}

const TEXT_SHOWN = 80;

export function describeChange({ field, before, after }: Change): string {
  if (field === "active") return after === true ? words.turnedOn : words.turnedOff;
  if (field === "deleted") return after === true ? words.removed : words.restored;
  if (field === "is_accepted" && after === true) return words.accepted;
  if (field === "performed_rollback") {
    return after === true ? words.rolledBack : words.notRolledBack;
  }
  const name = words.fields[field] ?? field.replaceAll("_", " ");
  const [from, to] =
    field === "level" ? [levelOf(before), levelOf(after)] : [short(before), short(after)];
  if (from === null || to === null) {
    return words.changed(name, Math.max(1, jsonDifferences(before, after).length));
  }
  if (isNothing(before)) return words.set(name, to);
  if (isNothing(after)) return words.unset(name, from);
  return words.changedFromTo(name, from, to);
}

function levelOf(level: unknown): string {
  return words.levels[String(level)] ?? String(level ?? "");
}

/** Return a value as text for a sentence, or null if it is too long or nested. */
function short(value: unknown): string | null {
  if (isNothing(value)) return "";
  if (typeof value === "boolean") return value ? words.on : words.off;
  if (typeof value === "number") return String(value);
  if (typeof value === "string") return value.length > TEXT_SHOWN ? null : words.quoted(value);
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) {
    const text = value.map(words.quoted).join(", ");
    return text.length > TEXT_SHOWN ? null : text;
  }
  return null;
}

function isNothing(value: unknown): boolean {
  return (
    value === null ||
    value === undefined ||
    value === "" ||
    (Array.isArray(value) && value.length === 0)
  );
}
