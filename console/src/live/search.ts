import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
import { type Given, textOf } from "@/lib/searchParams";

export interface LiveSearch {
  /** The name of an event, or the option of an action. */
  event?: string;
  distinct_id?: string;
  person_id?: string;
  /** Name of a property; with `value` those events whose property has it. */
  property?: string;
  value?: string;
  /** Only events of this browser's own distinct id. */
  mine?: true;
  /** Id of the event that is open. */
  open?: string;
}

const TEXTS = ["event", "distinct_id", "person_id", "property", "value", "open"] as const;

export function readLiveSearch(given: Given): LiveSearch {
  const search: LiveSearch = given.mine === true ? { mine: true } : {};
  for (const name of TEXTS) {
    const value = given[name];
    const text = typeof value === "boolean" ? String(value) : textOf(value);
    if (text !== undefined) search[name] = text;
  }
  return search;
}

/** undefined takes a part away; replace: without a step of the browser's history */
export type ChangeSearch = (
  changes: { [Name in keyof LiveSearch]?: LiveSearch[Name] | undefined },
  replace?: boolean,
) => void;

/** The search parameters of this screen, and the function that changes them. */
export function useLiveSearch(): [LiveSearch, ChangeSearch] {
  const search: LiveSearch = useSearch({ from: "/signed-in/project/$projectId/live" });
  const navigate = useNavigate({ from: "/project/$projectId/live" });
  const change: ChangeSearch = useCallback(
    (changes, replace = false) =>
      void navigate({
        search: (old) =>
          Object.fromEntries(
            Object.entries({ ...old, ...changes }).filter(([, value]) => value !== undefined),
          ),
        replace,
        resetScroll: false,
      }),
    [navigate],
  );
  return [search, change];
}
