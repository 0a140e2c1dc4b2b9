import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
import type { LiveSearch } from "./routes";

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
