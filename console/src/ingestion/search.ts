import { type Given, present, textOf } from "@/lib/searchParams";
import { type RangeSearch, readRangeSearch } from "@/ui/ranges";

/** The period of what arrived is the last hour by default. */
export interface IngestionSearch extends RangeSearch {
  /** An event that is looked for: by its uuid, or by the distinct id that it was sent with. */
  find?: string;
  /** Id of the dead letter that is open. */
  letter?: number;
}

export const readIngestionSearch = (given: Given): IngestionSearch =>
  present<IngestionSearch>({
    ...readRangeSearch(periodOf(given)),
    find: textOf(given.find),
    letter: typeof given.letter === "number" ? given.letter : undefined,
  });

/** Links that were made by earlier versions have `span=7d`. */
function periodOf(given: Given): Given {
  const span = textOf(given.span);
  return span === undefined || given.from !== undefined ? given : { from: `-${span}` };
}
