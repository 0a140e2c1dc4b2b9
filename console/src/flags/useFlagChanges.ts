import { type Query, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { openStream } from "@/lib/stream";
import { flagKeys } from "./queries";

// Many changes at once, such as those of a script, are read together.
const TOGETHER_MS = 1000;
// Queries to refetch when any flag changes. Previews of unsaved edits refetch on their own.
const CHANGED = ["list", "one", "overview", "activity"];

/** Read flags again as soon as anybody has changed one, while the component is drawn. */
export function useFlagChanges(projectId: string): void {
  const queries = useQueryClient();
  useEffect(() => {
    let timer = 0;
    let known: string | null = null;
    // What is read when the screen opens is as new as the first version.
    let olderThan = Date.now();
    const readAgain = () => {
      timer = 0;
      void queries.invalidateQueries({
        queryKey: flagKeys.all(projectId),
        predicate: (query) =>
          CHANGED.includes(String(query.queryKey[2])) && isOlder(query, olderThan),
      });
    };
    const close = openStream(`/api/projects/${projectId}/feature_flags/changes/stream/`, {
      onMessage: ({ id = "" }) => {
        if (id === known) return;
        // After the first version, each is of a change that nothing has been read since.
        if (known !== null) olderThan = Number.POSITIVE_INFINITY;
        known = id;
        if (timer === 0) timer = window.setTimeout(readAgain, TOGETHER_MS);
      },
    });
    return () => {
      close();
      window.clearTimeout(timer);
    };
  }, [queries, projectId]);
}

const isOlder = ({ state }: Query, moment: number): boolean =>
  state.data !== undefined && state.dataUpdatedAt < moment;
