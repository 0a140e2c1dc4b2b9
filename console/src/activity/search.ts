import { type Given, pageOf, present, textOf } from "@/lib/searchParams";
import { type RangeSearch, readRangeSearch } from "@/ui/ranges";

/** The filters of the activity, in the address. */
export interface ActivitySearch extends RangeSearch {
  /** A part of a name or of a changed value. */
  q?: string;
  /** The id of a user, or `system`. */
  who?: string;
  /** The kind of the item, such as FeatureFlag. */
  kind?: string;
  /** What happened, such as deleted. */
  what?: string;
  page?: number;
}

export const readActivitySearch = (given: Given): ActivitySearch =>
  present<ActivitySearch>({
    q: textOf(given.q),
    who: textOf(given.who),
    kind: textOf(given.kind),
    what: textOf(given.what),
    ...readRangeSearch(given),
    page: pageOf(given.page),
  });
