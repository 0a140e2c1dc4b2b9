import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
import type { LiveSearch } from "./routes";

/** undefined takes a part away; replace: without a step of the browser's history */
export type ChangeSearch = (
  changes: { [Name in keyof LiveSearch]?: LiveSearch[Name] | undefined },
  replace?: boolean,
) => void;

/** What the address says of this screen, and what changes it. */
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
