import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useProject, useProjectId } from "@/app/session";
import { eventOptions } from "@/events";
import { Button } from "@/ui/Button";
import { Combobox } from "@/ui/combobox";
import { Select } from "@/ui/Select";
import { Failed, Skeleton } from "@/ui/States";
import { words } from "@/words/persons";
import { type Person, timelineQuery } from "./queries";
import { SessionCard } from "./SessionCard";
import { type PersonSearch, TIMELINE_KINDS } from "./search";
import { sessionsOf } from "./sessions";

const route = getRouteApi("/signed-in/project/$projectId/persons/$personId");
const WORDS = words.timeline;

/** Everything stored that happened to a person, by session, newest first. */
export function Timeline({ person }: { person: Person }) {
  const projectId = useProjectId();
  const { kind, event, open } = route.useSearch();
  const navigate = route.useNavigate();
  const timeline = useInfiniteQuery(timelineQuery(projectId, person.id, { kind, event }));
  const sessions = sessionsOf(timeline.data?.pages.flatMap((page) => page.results) ?? []);
  const change = (search: PersonSearch) => void navigate({ search, replace: true });
  const kept = { ...(kind && { kind }), ...(event && { event }) };
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <TimelineFilters kind={kind} event={event} onChange={change} />
      {timeline.isError && (
        <Failed error={timeline.error} onRetry={() => void timeline.refetch()} />
      )}
      {timeline.isPending && <Skeleton rows={6} />}
      {sessions.map((session) => (
        <SessionCard
          key={session.entries[0]?.timestamp ?? session.id}
          session={session}
          openId={open}
          onOpen={(id) => change(id === undefined ? kept : { ...kept, open: id })}
        />
      ))}
      {timeline.isSuccess && (
        <TimelineEnd
          isEmpty={sessions.length === 0}
          isFiltered={kind !== undefined || event !== undefined}
          hasCohorts={event === undefined && kind !== "event" && kind !== "properties"}
          hasMore={timeline.hasNextPage}
          isLoading={timeline.isFetchingNextPage}
          onMore={() => void timeline.fetchNextPage()}
        />
      )}
    </div>
  );
}

interface FilterProps {
  kind: PersonSearch["kind"] | undefined;
  event: string | undefined;
  onChange: (search: PersonSearch) => void;
}

function TimelineFilters({ kind, event, onChange }: FilterProps) {
  const projectId = useProjectId();
  const zone = useProject()?.timezone ?? "UTC";
  const options = [
    { value: "all" as const, label: WORDS.kinds.all },
    ...TIMELINE_KINDS.map((one) => ({ value: one, label: WORDS.kinds[one] })),
  ];
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Select
        aria-label={WORDS.kind}
        className="w-auto!"
        value={event === undefined ? (kind ?? "all") : "event"}
        options={options}
        onChange={(chosen) => onChange(chosen === "all" ? {} : { kind: chosen })}
      />
      <div className="w-64 max-w-full">
        <Combobox
          label={WORDS.event}
          hideLabel
          placeholder={WORDS.eventPlaceholder}
          options={eventOptions(projectId)}
          value={event ?? null}
          onChange={(name) => onChange(name === null ? {} : { event: name })}
          freeEntry
          clearable
        />
      </div>
      <span className="text-ink-3 text-sm">{WORDS.zone(zone)}</span>
    </div>
  );
}

interface EndProps {
  isEmpty: boolean;
  isFiltered: boolean;
  hasCohorts: boolean;
  hasMore: boolean;
  isLoading: boolean;
  onMore: () => void;
}

/** The end of the list, with the reason. */
function TimelineEnd({ isEmpty, isFiltered, hasCohorts, hasMore, isLoading, onMore }: EndProps) {
  if (hasMore) {
    return (
      <div className="flex items-center gap-3">
        <Button isBusy={isLoading} onClick={onMore}>
          {WORDS.older}
        </Button>
        <span className="text-ink-3">{WORDS.since}</span>
      </div>
    );
  }
  if (isEmpty) {
    return <p className="py-6 text-ink-2">{isFiltered ? WORDS.emptyFilter : WORDS.empty}</p>;
  }
  return (
    <p className="text-ink-3 text-sm">
      {WORDS.end} {hasCohorts && WORDS.endOfCohorts}
    </p>
  );
}
