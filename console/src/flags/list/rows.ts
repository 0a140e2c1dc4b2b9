import type { FlagOverview } from "../listQueries";
import { type FlagBody, variantsOf } from "../model";
import { flagSentence, type Names } from "../sentence";
import type { FlagListSearch } from "./search";

/** overview: undefined until it is read */
export interface FlagListRow {
  flag: FlagBody;
  overview: FlagOverview | undefined;
}

/** Return whether a row passes the filters, compared as the API's list does. */
export function matches({ flag, overview }: FlagListRow, search: FlagListSearch): boolean {
  const sought = (search.q ?? "").trim().toLowerCase();
  return (
    (flag.key.toLowerCase().includes(sought) || flag.name.toLowerCase().includes(sought)) &&
    (search.active === undefined || flag.active === search.active) &&
    (search.type === undefined ||
      variantsOf(flag).length > 0 === (search.type === "multivariant")) &&
    (search.stale === undefined || typeof overview?.stale_reason === "string") &&
    (search.tag === undefined || flag.tags.includes(search.tag)) &&
    (search.by === undefined || flag.created_by?.id === search.by)
  );
}

// The sentence of a flag is made once: tables draw rows again and again.
const sentences = new WeakMap<Names, WeakMap<FlagBody, string>>();

export function sentenceOf(flag: FlagBody, names: Names): string {
  const known = sentences.get(names) ?? new WeakMap<FlagBody, string>();
  sentences.set(names, known);
  const sentence = known.get(flag) ?? flagSentence(flag, names);
  known.set(flag, sentence);
  return sentence;
}

export function callsOf({ overview }: FlagListRow): number {
  return (overview?.calls ?? []).reduce((sum, calls) => sum + calls, 0);
}
