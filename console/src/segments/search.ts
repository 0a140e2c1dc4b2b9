import { type Given, present, textOf } from "@/lib/searchParams";

export interface SegmentsSearch {
  q?: string;
  /** Shows the deleted segments, and not the others. */
  deleted?: true;
}

export const readSegmentsSearch = (given: Given): SegmentsSearch =>
  present<SegmentsSearch>({
    q: textOf(given.q),
    deleted: given.deleted === true ? true : undefined,
  });
