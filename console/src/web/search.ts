import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { choiceOf, type Given, present, textOf } from "@/lib/searchParams";
import { type RangeSearch, readRangeSearch } from "@/ui/ranges";
import { readWebBehind, type WebBehind } from "./behind";
import { BREAKDOWNS, type Breakdown, breakdownsOf } from "./breakdowns";
import { type Condition, readConditions } from "./conditions";
import { FIGURE_NAMES, type FigureName } from "./figures";

export const GOALS_MAX = 10;

/** The whole state of the screen, kept in its URL. */
export interface WebSearch extends RangeSearch {
  /** The rows that the whole screen is filtered by. */
  where?: readonly Condition[];
  /** The charted figure; visitors by default. */
  figure?: FigureName;
  /** The tab of each panel; the first by default. */
  sources?: Breakdown;
  pages?: Breakdown;
  places?: Breakdown;
  devices?: Breakdown;
  /** The table whose rows are all shown. */
  all?: Breakdown;
  /** The event, or the option of the action, that counts as a conversion. */
  goal?: string;
  /** The events and options of actions in the goal list. */
  goals?: readonly string[];
  /** Includes test accounts. */
  tests?: true;
  /** Shows raw paths, without the project's cleaning rules. */
  raw?: true;
  /** The number in the chart whose persons are shown. */
  behind?: WebBehind;
}

export const readWebSearch = (given: Given): WebSearch => {
  const where = readConditions(given.where);
  return {
    ...readRangeSearch(given),
    ...present<WebSearch>({
      where: where.length > 0 ? where : undefined,
      figure: choiceOf(FIGURE_NAMES, given.figure),
      sources: choiceOf(breakdownsOf("sources"), given.sources),
      pages: choiceOf(breakdownsOf("pages"), given.pages),
      places: choiceOf(breakdownsOf("places"), given.places),
      devices: choiceOf(breakdownsOf("devices"), given.devices),
      all: choiceOf(BREAKDOWNS, given.all),
      goal: textOf(given.goal),
      goals: readGoals(given.goals),
      tests: given.tests === true ? true : undefined,
      raw: given.raw === true ? true : undefined,
      behind: readWebBehind(given.behind),
    }),
  };
};

function readGoals(given: unknown): readonly string[] | undefined {
  if (!Array.isArray(given)) return undefined;
  const names = given.flatMap((one) => textOf(one) ?? []);
  return [...new Set(names)].slice(0, GOALS_MAX);
}

/** undefined removes a part; replace: without a new history entry */
export type ChangeWebSearch = (
  changes: { [Name in keyof WebSearch]?: WebSearch[Name] | undefined },
  replace?: boolean,
) => void;

function withChanges(old: WebSearch, changes: Parameters<ChangeWebSearch>[0]): WebSearch {
  const { where, ...others } = { ...old, ...changes } as WebSearch;
  return present<WebSearch>({ ...others, where: where?.length ? where : undefined });
}

export function useWebSearch(): [WebSearch, ChangeWebSearch] {
  // The router adds whatever was left out from the current URL.
  const given: Given = useSearch({ from: "/signed-in/project/$projectId/web" });
  const search = useMemo(() => readWebSearch(given), [given]);
  const navigate = useNavigate({ from: "/project/$projectId/web" });
  const change: ChangeWebSearch = useCallback(
    (changes, replace = false) =>
      void navigate({
        search: (old) => withChanges(readWebSearch(old), changes),
        replace,
        resetScroll: false,
      }),
    [navigate],
  );
  return [search, change];
}
