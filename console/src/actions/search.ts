import { type Given, present, textOf } from "@/lib/searchParams";

export interface ActionsSearch {
  q?: string;
  /** Shows the deleted actions, and not the others. */
  deleted?: true;
}

export const readActionsSearch = (given: Given): ActionsSearch =>
  present<ActionsSearch>({
    q: textOf(given.q),
    deleted: given.deleted === true ? true : undefined,
  });
