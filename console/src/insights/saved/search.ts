import { KIND_NAMES, type KindName } from "@/insights/question/model";
import { choiceOf, type Given, pageOf, present, textOf } from "@/lib/searchParams";
import { type InsightSearch, readInsightSearch } from "../search";

export interface InsightsSearch {
  q?: string;
  /** Only insights created by the user. */
  mine?: true;
  kind?: KindName;
  tag?: string;
  /** Include insights generated for flags. */
  generated?: true;
  deleted?: true;
}

const INSIGHT_TABS = ["question", "activity"] as const;
export type InsightTab = (typeof INSIGHT_TABS)[number];

export interface SavedSearch extends InsightSearch {
  tab?: InsightTab;
  /** The page of the activity log. */
  page?: number;
  /** The insight's last change before the edits in the URL began. */
  draft?: string;
}

const onlyTrue = (given: unknown): true | undefined => (given === true ? true : undefined);

export const readInsightsSearch = (given: Given): InsightsSearch =>
  present<InsightsSearch>({
    q: textOf(given.q),
    mine: onlyTrue(given.mine),
    kind: choiceOf(KIND_NAMES, given.kind),
    tag: textOf(given.tag),
    generated: onlyTrue(given.generated),
    deleted: onlyTrue(given.deleted),
  });

export function readSavedSearch(given: Given): SavedSearch {
  const { tab, page, draft, ...question } = given;
  const read = present<SavedSearch>({
    tab: choiceOf(INSIGHT_TABS, tab),
    page: pageOf(page),
    draft: textOf(draft),
    behind: readInsightSearch(given).behind,
  });
  const { behind: _, ...others } = question;
  return read.draft === undefined ? read : { ...readInsightSearch(others), ...read };
}
