import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import { useProjectId } from "@/app/session";
import type { components } from "@/lib/schema";
import { Dialog } from "@/ui/Dialog";
import { PropertiesTable, plainName, Visible } from "@/ui/properties";
import { Failed, Skeleton } from "@/ui/States";
import { ClockTime } from "@/ui/Time";
import { type Column, DataTable } from "@/ui/table";
import { words } from "@/words/groups";
import { type Group, groupEventsQuery } from "./queries";

type Event = Omit<components["schemas"]["EventBody"], "person">;
const route = getRouteApi("/signed-in/project/$projectId/groups/$typeIndex/$groupKey");
const WORDS = words.events;

const COLUMNS: readonly Column<Event>[] = [
  {
    id: "event",
    header: WORDS.event,
    grow: true,
    fixed: true,
    cell: ({ event }) => <Visible text={plainName(event)} />,
    text: ({ event }) => event,
  },
  {
    id: "person",
    header: WORDS.person,
    grow: true,
    cell: ({ distinct_id: id }) => <Visible text={id} />,
    text: ({ distinct_id: id }) => id,
  },
  {
    id: "time",
    header: WORDS.time,
    width: 180,
    cell: ({ timestamp }) => <ClockTime at={timestamp} seconds />,
    text: ({ timestamp }) => timestamp,
  },
];

/** The newest events of the group, of all persons. */
export function GroupEvents({ group }: { group: Group }) {
  const { open } = route.useSearch();
  const navigate = route.useNavigate();
  const events = useInfiniteQuery(
    groupEventsQuery(useProjectId(), String(group.group_type_index), group.group_key),
  );
  const rows = useMemo(
    () => events.data?.pages.flatMap((page) => page.results) ?? [],
    [events.data],
  );
  const opened = rows.find(({ id }) => id === open);
  if (events.isPending) return <Skeleton rows={5} />;
  if (events.isError) {
    return <Failed error={events.error} onRetry={() => void events.refetch()} />;
  }
  return (
    <>
      <DataTable<Event>
        name="group-events"
        label={WORDS.label}
        columns={COLUMNS}
        rows={rows}
        rowId={({ id }) => id}
        onOpen={({ id }) => void navigate({ search: { tab: "events", open: id } })}
        more={{
          hasMore: events.hasNextPage,
          isLoading: events.isFetchingNextPage,
          load: () => void events.fetchNextPage(),
        }}
        empty={WORDS.empty}
      />
      {opened && (
        <Dialog
          isOpen
          onClose={() => void navigate({ search: { tab: "events" } })}
          title={plainName(opened.event)}
          description={<ClockTime at={opened.timestamp} seconds />}
          wide
        >
          <PropertiesTable label={WORDS.properties} properties={opened.properties} />
        </Dialog>
      )}
    </>
  );
}
