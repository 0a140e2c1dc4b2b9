import { type Given, present, textOf } from "@/lib/searchParams";

export interface AnnotationsSearch {
  q?: string;
  /** Shows the deleted annotations, and not the others. */
  deleted?: true;
}

export const readAnnotationsSearch = (given: Given): AnnotationsSearch =>
  present<AnnotationsSearch>({
    q: textOf(given.q),
    deleted: given.deleted === true ? true : undefined,
  });
