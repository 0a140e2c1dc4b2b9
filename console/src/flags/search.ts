import { type Behind, readBehind } from "@/charts/behind";
import { choiceOf, type Given, pageOf, present, textOf } from "@/lib/searchParams";
import { type RangeSearch, readRangeSearch } from "@/ui/ranges";

const TABS = ["targeting", "rollout", "usage", "activity", "access"] as const;
export type FlagTab = (typeof TABS)[number];

/** The hash of an address that begins with trying the flag. */
export const TRY_IT = "try";

// The charts of the usage whose numbers have persons.
const CHARTS = ["calls", "events"] as const;
export type UsageChart = (typeof CHARTS)[number];

export interface FlagSearch extends RangeSearch {
  tab?: FlagTab;
  /** The distinct id or e-mail address for which the flag is tried. */
  try?: string;
  /** The page of the activity. */
  page?: number;
  /** The number whose persons are shown. */
  behind?: Behind & { chart: UsageChart };
}

/** The state of a flag's page in its address. */
export function flagSearch(given: Given): FlagSearch {
  const tab = choiceOf(TABS, given.tab);
  return {
    ...readRangeSearch(given),
    ...present<FlagSearch>({
      tab: tab === "targeting" ? undefined : tab,
      try: textOf(given.try),
      page: pageOf(given.page),
      behind: behindOf(given.behind),
    }),
  };
}

function behindOf(given: unknown): FlagSearch["behind"] {
  const behind = readBehind(given);
  const chart = choiceOf(CHARTS, ({ ...(given as object) } as Given).chart);
  return behind === undefined || chart === undefined ? undefined : { ...behind, chart };
}
