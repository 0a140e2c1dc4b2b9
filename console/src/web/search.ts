import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { choiceOf, type Given, present, textOf } from "@/lib/searchParams";
import { type RangeSearch, readRangeSearch } from "@/ui/ranges";
import { readWebBehind, type WebBehind } from "./behind";
import { BREAKDOWNS, type Breakdown, breakdownsOf } from "./breakdowns";
import { type Condition, readConditions } from "./conditions";
import { FIGURE_NAMES, type FigureName } from "./figures";

export const GOALS_MAX = 10;

/** The whole state of the screen, in its address. */
export interface WebSearch extends RangeSearch {
  /** The rows that everything is filtered by. */
  where?: readonly Condition[];
  /** The figure that is drawn; the visitors by default. */
  figure?: FigureName;
  /** What each panel shows; its first tab by default. */
  sources?: Breakdown;
  pages?: Breakdown;
  places?: Breakdown;
  devices?: Breakdown;
  /** The table of which all rows are shown. */
  all?: Breakdown;
  /** The event by which visitors are told who converted from who did not. */
  goal?: string;
  /** The events in the list of goals. */
  goals?: readonly string[];
  /** Counts visitors whom the project's filter takes for members of the team. */
  tests?: true;
  /** Shows paths as they are, without the project's rules for them. */
  raw?: true;
  /** The number of the chart whose persons are shown. */
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

/** undefined takes a part away; replace: without a step of the browser's history */
export type ChangeWebSearch = (
  changes: { [Name in keyof WebSearch]?: WebSearch[Name] | undefined },
  replace?: boolean,
) => void;

function withChanges(old: WebSearch, changes: Parameters<ChangeWebSearch>[0]): WebSearch {
  const { where, ...others } = { ...old, ...changes } as WebSearch;
  return present<WebSearch>({ ...others, where: where?.length ? where : undefined });
}

export function useWebSearch(): [WebSearch, ChangeWebSearch] {
  // The router adds what was left out of an address as it stands there.
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
