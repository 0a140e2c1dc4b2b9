import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Eraser, Pause, Play, Radio } from "lucide-react";
import { useCallback, useEffect, useMemo, useState } from "react";
import { actionIn } from "@/actions";
import { preflightQuery, useProject, useProjectId } from "@/app/session";
import { useShortcuts } from "@/lib/shortcuts";
import { captureUrl, snippet } from "@/lib/snippets";
import { Button } from "@/ui/Button";
import { Code } from "@/ui/Copy";
import { Page } from "@/ui/Page";
import { Empty } from "@/ui/States";
import { words } from "@/words/live";
import { EventTable } from "./EventTable";
import { LiveFilters } from "./LiveFilters";
import type { LiveEvent } from "./liveEvent";
import { useOwnId } from "./ownId";
import { earlierQuery } from "./queries";
import { StreamState } from "./StreamState";
import type { LiveSearch } from "./search";
import { useLiveSearch } from "./search";
import { useFeed } from "./useFeed";

export default function LivePage() {
  const [search, change] = useLiveSearch();
  const [isPaused, setPaused] = useState(false);
  const [ownId, setOwnId] = useOwnId();
  const filter = filterOf(search, ownId);
  const feed = useFeed({
    filter: {
      event: filter.event,
      action_id: filter.action_id,
      distinct_id: filter.distinct_id,
      person_id: filter.person_id,
    },
    isWanted: (event) => hasProperty(event, search),
    // A row that is read must not move away.
    isHeld: isPaused || search.open !== undefined,
  });
  const earlier = useInfiniteQuery({
    ...earlierQuery(useProjectId(), filter),
    // Events that arrive in between are in both rather than in neither.
    enabled: feed.hasOpened || feed.error !== null,
  });
  const { refetch } = earlier;
  useEffect(() => {
    if (feed.gaps > 0) void refetch();
  }, [feed.gaps, refetch]);
  const before = useMemo(() => {
    const live = new Set(feed.events.map((event) => event.id));
    const found = earlier.data?.pages.flatMap((page) => page.results) ?? [];
    return found.filter((event) => !live.has(event.id));
  }, [feed.events, earlier.data]);
  const toggle = useCallback(
    (id: string) => change({ open: search.open === id ? undefined : id }, true),
    [change, search.open],
  );
  const resume = () => {
    setPaused(false);
    if (search.open !== undefined) change({ open: undefined }, true);
  };
  const isHeld = isPaused || search.open !== undefined;
  useShortcuts([
    {
      keys: "p",
      label: isHeld ? words.resume : words.pause,
      group: "do",
      run: () => (isHeld ? resume() : setPaused(true)),
    },
  ]);
  const isEmpty = feed.events.length + before.length === 0 && !earlier.isPending;
  return (
    <Page
      title={words.title}
      description={words.description}
      actions={
        <>
          <Button look="quiet" icon={Eraser} onClick={feed.clear}>
            {words.clear}
          </Button>
          <Button
            icon={isHeld ? Play : Pause}
            onClick={() => (isHeld ? resume() : setPaused(true))}
            className="min-w-28"
          >
            {isHeld && feed.waiting > 0
              ? words.resumeWith(feed.waiting)
              : isHeld
                ? words.resume
                : words.pause}
          </Button>
        </>
      }
    >
      <LiveFilters
        search={search}
        onChange={change}
        events={feed.events}
        earlier={before}
        ownId={ownId}
        onOwnId={setOwnId}
      />
      <StreamState feed={feed} isPaused={isPaused} isHeld={isHeld} />
      {isEmpty ? (
        <NoEvents isFiltered={Object.keys(filter).length > 0} />
      ) : (
        <EventTable
          events={feed.events}
          earlier={before}
          openId={search.open}
          onToggle={toggle}
          onFilter={change}
          more={{
            isPending: earlier.isPending,
            error: earlier.error,
            retry: () => void earlier.refetch(),
            hasMore: earlier.hasNextPage,
            isLoading: earlier.isFetchingNextPage,
            load: () => void earlier.fetchNextPage(),
          }}
        />
      )}
    </Page>
  );
}

function filterOf(search: LiveSearch, ownId: string) {
  const { distinct_id, person_id, property, value } = search;
  const action = actionIn(search.event ?? "");
  const event = action === null ? search.event : undefined;
  const action_id = action === null ? undefined : String(action.id);
  const id = search.mine && ownId !== "" ? ownId : distinct_id;
  return Object.fromEntries(
    Object.entries({ event, action_id, distinct_id: id, person_id, property, value }).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    ),
  );
}

/** Return whether the event has the property, compared as the API compares earlier events. */
function hasProperty(event: LiveEvent, { property, value }: LiveSearch): boolean {
  if (property === undefined) return true;
  const found = event.properties[property];
  if (found === undefined || found === null) return false;
  if (value === undefined) return true;
  const text = typeof found === "object" ? JSON.stringify(found) : String(found);
  return text.toLowerCase() === value.toLowerCase();
}

function NoEvents({ isFiltered }: { isFiltered: boolean }) {
  const project = useProject();
  const preflight = useQuery(preflightQuery);
  if (isFiltered) {
    return (
      <Empty icon={Radio} title={words.emptyFiltered}>
        <p>{words.emptyFilteredHint}</p>
      </Empty>
    );
  }
  return (
    <Empty icon={Radio} title={words.empty}>
      <p>{words.emptyHint}</p>
      {project !== undefined && preflight.data !== undefined && (
        <div className="w-full max-w-full">
          <Code
            text={snippet("curl", project.api_token, captureUrl(preflight.data.capture_url))}
            what={words.curl}
          />
        </div>
      )}
    </Empty>
  );
}
