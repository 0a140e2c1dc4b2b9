import type { components } from "@/lib/schema";
import { jsonDifferences } from "@/ui/jsonDiff";
import { words } from "@/words/activity";

export type Change = components["schemas"]["Change"];
type Say = (before: unknown, after: unknown) => string;

// Fields for which a general sentence with the field's name would sound odd.
const SENTENCES: Readonly<Record<string, Say>> = {
  access_level: (_, after) =>
    words.access[String(after)] ?? words.changed(words.scopes.ResourceAccess ?? "", 1),
  activity_kept_days: (_, after) =>
    typeof after === "number" ? words.keptFor(after) : words.keptForEver,
  events_kept_days: (_, after) =>
    typeof after === "number" ? words.eventsKeptFor(after) : words.eventsKeptForEver,
  api_token: () => words.replacedProjectKey,
  dashboards: (before, after) =>
    byLength(
      before,
      after,
      words.addedToDashboard,
      words.removedFromDashboard,
      words.changedDashboards,
    ),
  feature_flags_access_level: (_, after) =>
    words.roleAccess[String(after)] ?? words.changedRoleAccess,
  guarded_release: (_, after) => releaseOf(after),
  level: (before, after) =>
    words.changedFromTo(words.fields.level ?? "level", levelOf(before), levelOf(after)),
  members: (before, after) => membersOf(before, after),
  role_access: (before, after) =>
    after === null ? words.tookAccess(nameOf(before)) : words.gaveAccess(nameOf(after)),
  scheduled_change: (before, after) =>
    after === null ? words.unscheduled(plannedBy(before)) : words.scheduled(plannedBy(after)),
  secret_key: (before, after) => {
    if (isNothing(before)) return words.madeSecretKey;
    return isNothing(after) ? words.revokedSecretKey : words.replacedSecretKey;
  },
  tiles: (before, after) =>
    byLength(before, after, words.addedTile, words.removedTile, words.changedTiles),
  week_start_day: (_, after) => words.weekStart(after === 1),
};

// Sentences that leave out what the difference shows.
const UNTOLD: ReadonlySet<string> = new Set(["dashboards", "scheduled_change", "tiles"]);

const TEXT_SHOWN = 80;

/** Return whether a change only records the existing state, such as off for a flag that was never on. */
export function isIdle({ before, after }: Change): boolean {
  return isNothing(before) && after === false;
}

/** Return whether the sentence describes a change in full, so that no difference is needed. */
export function isTold({ field, before, after }: Change): boolean {
  if (words.switched[field] !== undefined) return true;
  if (SENTENCES[field] !== undefined) return !UNTOLD.has(field);
  return short(before) !== null && short(after) !== null;
}

export function describeChange({ field, before, after }: Change): string {
  const switched = words.switched[field];
  if (switched !== undefined) return after === true ? switched.on : switched.off;
  const say = SENTENCES[field];
  if (say !== undefined) return say(before ?? null, after ?? null);
  const name = words.fields[field] ?? field.replaceAll("_", " ");
  const [from, to] = [short(before), short(after)];
  if (from === null || to === null) {
    return words.changed(name, Math.max(1, jsonDifferences(before, after).length));
  }
  if (isNothing(before)) return words.set(name, to);
  if (isNothing(after)) return words.unset(name, from);
  return words.changedFromTo(name, from, to);
}

/** Return one of three sentences: items were added to a list, removed from it, or changed. */
function byLength(before: unknown, after: unknown, longer: string, shorter: string, other: string) {
  const grown = lengthOf(after) - lengthOf(before);
  if (grown === 0) return other;
  return grown > 0 ? longer : shorter;
}

const lengthOf = (list: unknown): number => (Array.isArray(list) ? list.length : 0);

/** Return who joined and who left; members of a cohort are only counted elsewhere. */
function membersOf(before: unknown, after: unknown): string {
  const [former, latest] = [textsOf(before), textsOf(after)];
  const added = latest.filter((one) => !former.includes(one));
  const removed = former.filter((one) => !latest.includes(one));
  const said = [
    added.length > 0 && words.addedMembers(added.join(", ")),
    removed.length > 0 && words.removedMembers(removed.join(", ")),
  ].filter((one) => one !== false);
  return said.length === 0 ? words.changedMembers : said.join("; ");
}

const textsOf = (list: unknown): string[] =>
  Array.isArray(list) ? list.filter((one) => typeof one === "string") : [];

function nameOf(item: unknown): string {
  return isObject(item) && typeof item.name === "string" ? item.name : "";
}

/** Return what a guarded release did: "set its guarded release to rolled back, step 2". */
function releaseOf(release: unknown): string {
  if (!isObject(release)) return "";
  return words.release(String(release.state), Number(release.step));
}

/** Return what a scheduled change will do: "switch it off". */
function plannedBy(change: unknown): string {
  const payload = isObject(change) && isObject(change.payload) ? change.payload : {};
  if (payload.operation === "update_status") {
    return payload.value === true ? words.planned.on : words.planned.off;
  }
  return words.planned[String(payload.operation)] ?? words.planned.other;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

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
