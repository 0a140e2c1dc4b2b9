/** Search parameters of the list: what it shows. */
export interface FlagListSearch {
  q?: string;
  active?: boolean;
  type?: "boolean" | "multivariant";
  stale?: true;
  tag?: string;
  /** Id of the user who made the flag. */
  by?: number;
  /** Id of a column, with `-` for descending. */
  sort?: string;
  /** Shows the deleted flags, and not the others. */
  deleted?: true;
}

/** Parameters that cannot be read are ignored. */
export function readFlagListSearch(search: Record<string, unknown>): FlagListSearch {
  const { q, active, type, stale, tag, by, sort, deleted } = search;
  return {
    ...(isFilled(q) && { q }),
    ...(typeof active === "boolean" && { active }),
    ...((type === "boolean" || type === "multivariant") && { type }),
    ...(stale === true && { stale }),
    ...(isFilled(tag) && { tag }),
    ...(typeof by === "number" && Number.isSafeInteger(by) && { by }),
    ...(isFilled(sort) && { sort }),
    ...(deleted === true && { deleted }),
  };
}

function isFilled(found: unknown): found is string {
  return typeof found === "string" && found !== "";
}

/** Return whether the search leaves out any flag. */
export function isFiltered({ sort: _, deleted: __, ...filters }: FlagListSearch): boolean {
  return Object.keys(filters).length > 0;
}
