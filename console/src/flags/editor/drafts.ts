import { isObject } from "../model";
import { type Fields, isFields } from "./fields";

/** The unsaved changes of a flag. base: the flag on which they are based */
export interface Draft {
  base: Fields;
  version: number;
  fields: Fields;
  keptAt: string;
  /** The draft of a flag that is not created yet. */
  name?: string;
}

const PREFIX = "fanion.flag-draft.";
// The limits of drafts: the browser's storage is a few megabytes for all screens.
const DRAFTS_MAX = 20;
const CHARS_MAX = 200_000;

/** userId: drafts are those of one user, also where a browser is shared */
export const draftName = (userId: number | string, projectId: string, flag: number | "new") =>
  `${PREFIX}${userId}.${projectId}.${flag}`;

export function readDraft(name: string): Draft | null {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(name) ?? "null");
    return isDraft(found) ? found : null;
  } catch {
    return null;
  }
}

/** returns: whether it was kept; a browser may refuse, and a draft may be too large */
export function keepDraft(name: string, draft: Omit<Draft, "keptAt">): boolean {
  try {
    const text = JSON.stringify({ ...draft, keptAt: new Date().toISOString() });
    if (text.length > CHARS_MAX) return false;
    localStorage.setItem(name, text);
    dropOldest();
    return true;
  } catch {
    return false;
  }
}

export function dropDraft(name: string): void {
  try {
    localStorage.removeItem(name);
  } catch {
    // Storage is switched off: nothing was kept.
  }
}

function dropOldest(): void {
  const names = Object.keys(localStorage).filter((name) => name.startsWith(PREFIX));
  if (names.length <= DRAFTS_MAX) return;
  const byAge = names
    .map((name) => ({ name, keptAt: readDraft(name)?.keptAt ?? "" }))
    .sort((one, other) => one.keptAt.localeCompare(other.keptAt));
  for (const { name } of byAge.slice(0, names.length - DRAFTS_MAX)) localStorage.removeItem(name);
}

const isDraft = (found: unknown): found is Draft =>
  isObject(found) &&
  isFields(found.base) &&
  isFields(found.fields) &&
  (found.name === undefined || typeof found.name === "string") &&
  typeof found.version === "number" &&
  typeof found.keptAt === "string";
