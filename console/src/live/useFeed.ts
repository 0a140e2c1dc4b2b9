import { useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { useProjectId } from "@/app/session";
import { Feed, type FeedState } from "./feed";
import type { LiveEvent } from "./liveEvent";

/** The filters that the server applies. */
export interface FeedFilter {
  event?: string | undefined;
  action_id?: string | undefined;
  distinct_id?: string | undefined;
  person_id?: string | undefined;
}

interface Options {
  filter?: FeedFilter;
  /** A filter of the browser's own, of what the stream brings. */
  isWanted?: (event: LiveEvent) => boolean;
  isHeld?: boolean;
  /** Reads on while the page is hidden. */
  evenHidden?: boolean;
}

const all = () => true;

/** The stream of the project's events, while the component is drawn. A new filter begins anew. */
export function useFeed(options: Options = {}): FeedState & { clear: () => void } {
  const { filter = {}, isWanted = all, isHeld = false, evenHidden = false } = options;
  const projectId = useProjectId();
  const path = streamPath(projectId, filter);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another path is another stream.
  const feed = useMemo(() => new Feed(), [path]);
  const wanted = useRef(isWanted);
  wanted.current = isWanted;
  useEffect(() => {
    return feed.follow(path, (event) => wanted.current(event), { evenHidden });
  }, [feed, path, evenHidden]);
  useEffect(() => feed.hold(isHeld), [feed, isHeld]);
  const state = useSyncExternalStore(feed.subscribe, feed.read);
  return { ...state, clear: () => feed.clear() };
}

function streamPath(projectId: string, filter: FeedFilter): string {
  const given = Object.entries(filter).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string" && entry[1] !== "",
  );
  return `/api/projects/${projectId}/events/stream/?${new URLSearchParams(given)}`;
}
