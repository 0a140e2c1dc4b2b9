import { type Given, present, textOf } from "@/lib/searchParams";

export interface NamedItemsSearch {
  q?: string;
  /** Shows the deleted items, and not the others. */
  deleted?: true;
}

export const readNamedItemsSearch = (given: Given): NamedItemsSearch =>
  present<NamedItemsSearch>({
    q: textOf(given.q),
    deleted: given.deleted === true ? true : undefined,
  });
