import { type Given, pageOf, present, textOf } from "@/lib/searchParams";

/** The filters of the activity, in the address. */
export interface ActivitySearch {
  /** A part of a name or of a changed value. */
  q?: string;
  /** The id of a user, or `system`. */
  who?: string;
  /** The kind of the item, such as FeatureFlag. */
  kind?: string;
  /** What happened, such as deleted. */
  what?: string;
  /** Days, inclusive: 2026-05-01. */
  from?: string;
  to?: string;
  page?: number;
}

export const readActivitySearch = (given: Given): ActivitySearch =>
  present<ActivitySearch>({
    q: textOf(given.q),
    who: textOf(given.who),
    kind: textOf(given.kind),
    what: textOf(given.what),
    from: dayOf(given.from),
    to: dayOf(given.to),
    page: pageOf(given.page),
  });

const DAY = /^\d{4}-\d{2}-\d{2}$/;

function dayOf(given: unknown): string | undefined {
  return typeof given === "string" && DAY.test(given) ? given : undefined;
}
