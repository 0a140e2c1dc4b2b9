import { choiceOf, type Given, present, textOf } from "@/lib/searchParams";

export const GROUP_TABS = ["properties", "events", "flags"] as const;
export type GroupTab = (typeof GROUP_TABS)[number];

export interface GroupsSearch {
  /** Index of the group type. */
  type?: number;
  q?: string;
  /** Id of a column, with `-` for descending. */
  sort?: string;
}

export interface GroupSearch {
  tab?: GroupTab;
  /** The event that is open. */
  open?: string;
}

export const readGroupsSearch = (given: Given): GroupsSearch =>
  present<GroupsSearch>({
    type: typeof given.type === "number" && given.type > 0 ? given.type : undefined,
    q: textOf(given.q),
    sort: textOf(given.sort),
  });

export const readGroupSearch = (given: Given): GroupSearch =>
  present<GroupSearch>({ tab: choiceOf(GROUP_TABS, given.tab), open: textOf(given.open) });
