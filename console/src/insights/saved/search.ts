import { ALL_KIND_NAMES, type KindName } from "@/insights/question/model";
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
  /** Alerts instead of insights. */
  alerts?: true;
  /** The state of the alerts that are shown. */
  state?: AlertState;
}

/** The states of alerts, the most urgent first. */
export const ALERT_STATES = [
  "firing",
  "errored",
  "not_checked",
  "not_firing",
  "snoozed",
  "off",
] as const;
export type AlertState = (typeof ALERT_STATES)[number];

const INSIGHT_TABS = ["question", "alerts", "activity"] as const;
export type InsightTab = (typeof INSIGHT_TABS)[number];

export interface SavedSearch extends InsightSearch {
  tab?: InsightTab;
  /** The page of the activity log. */
  page?: number;
  /** The id of the alert that is shown. */
  alert?: number | "new";
  /** Whether the alert is edited. */
  edit?: true;
  /** The insight's last change before the edits in the URL began. */
  draft?: string;
}

const onlyTrue = (given: unknown): true | undefined => (given === true ? true : undefined);

export const readInsightsSearch = (given: Given): InsightsSearch =>
  present<InsightsSearch>({
    q: textOf(given.q),
    mine: onlyTrue(given.mine),
    kind: choiceOf(ALL_KIND_NAMES, given.kind),
    tag: textOf(given.tag),
    generated: onlyTrue(given.generated),
    deleted: onlyTrue(given.deleted),
    alerts: onlyTrue(given.alerts),
    state: choiceOf(ALERT_STATES, given.state),
  });

export function readSavedSearch(given: Given): SavedSearch {
  const { tab, page, alert, edit, draft, ...question } = given;
  const read = present<SavedSearch>({
    tab: choiceOf(INSIGHT_TABS, tab),
    page: pageOf(page),
    alert: alert === "new" || Number.isSafeInteger(alert) ? (alert as number | "new") : undefined,
    edit: onlyTrue(edit),
    draft: textOf(draft),
    behind: readInsightSearch(given).behind,
  });
  const { behind: _, ...others } = question;
  return read.draft === undefined ? read : { ...readInsightSearch(others), ...read };
}
