import { type ReactNode, useState } from "react";
import { useShortcuts } from "@/lib/shortcuts";
import { Button } from "@/ui/Button";
import { Failed, Skeleton } from "@/ui/States";
import { words } from "@/words/live";
import { EventRow } from "./EventRow";
import type { LiveEvent } from "./liveEvent";
import type { ChangeSearch } from "./search";

// Rows in the page: of a busy stream the newest alone, until the user asks for more.
const SHOWN_FIRST = 100;
const SHOWN_MORE = 300;

interface More {
  isPending: boolean;
  error: unknown;
  retry: () => void;
  hasMore: boolean;
  isLoading: boolean;
  load: () => void;
}

interface EventTableProps {
  events: readonly LiveEvent[];
  earlier: readonly LiveEvent[];
  openId: string | undefined;
  onToggle: (id: string) => void;
  onFilter: ChangeSearch;
  more: More;
}

export function EventTable(props: EventTableProps) {
  const { events, earlier, more } = props;
  const [count, setCount] = useState(SHOWN_FIRST);
  useShortcuts([
    { keys: "j", run: () => moveFocus(1) },
    { keys: "k", run: () => moveFocus(-1) },
  ]);
  const rest = events.length - count;
  return (
    <div className="flex flex-col gap-3">
      <table
        aria-label={words.list}
        className="w-full table-fixed border-separate border-spacing-0 rounded-lg border border-line bg-panel"
      >
        {/* A narrow window has no room for the last, which details span all the same. */}
        <colgroup>
          <col className="w-32 md:w-64" />
          <col />
          <col />
          <col className="w-0 md:w-auto" />
        </colgroup>
        <thead>
          <tr className="text-ink-2 text-sm">
            <Heading>{words.time}</Heading>
            <Heading>{words.event}</Heading>
            <Heading>{words.person}</Heading>
            <Heading className="max-md:px-0">{words.place}</Heading>
          </tr>
        </thead>
        <tbody>
          <Rows {...props} events={events.slice(0, count)} />
          {rest > 0 && (
            <Line>
              <Button small onClick={() => setCount(count + SHOWN_MORE)}>
                {words.more(rest)}
              </Button>
            </Line>
          )}
          {events.length > 0 && earlier.length > 0 && (
            <Line>
              <span className="text-ink-2 text-sm">{words.earlier}</span>
            </Line>
          )}
          <Rows {...props} events={earlier} />
        </tbody>
      </table>
      <Earlier {...more} isEmpty={earlier.length === 0} />
    </div>
  );
}

function Earlier(props: More & { isEmpty: boolean }) {
  if (props.isPending) return <Skeleton rows={3} />;
  if (props.error && props.isEmpty) return <Failed error={props.error} onRetry={props.retry} />;
  if (!props.hasMore) return <p className="text-ink-2">{words.noEarlier}</p>;
  return (
    <div>
      <Button isBusy={props.isLoading} onClick={props.load}>
        {words.loadEarlier}
      </Button>
    </div>
  );
}

function Rows({ events, openId, onToggle, onFilter }: Omit<EventTableProps, "earlier" | "more">) {
  return events.map((event) => (
    <EventRow
      key={event.id}
      event={event}
      isOpen={event.id === openId}
      onToggle={onToggle}
      onFilter={onFilter}
    />
  ));
}

function Heading({ className = "", children }: { className?: string; children: ReactNode }) {
  return (
    <th
      scope="col"
      className={`truncate border-line border-b px-3 py-1.5 text-left font-medium ${className}`}
    >
      {children}
    </th>
  );
}

function Line({ children }: { children: ReactNode }) {
  return (
    <tr>
      <td colSpan={4} className="border-line border-b bg-sunken px-3 py-1.5 text-center">
        {children}
      </td>
    </tr>
  );
}

/** Moves the focus from row to row. */
function moveFocus(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>("[data-event-row]")];
  const at = rows.findIndex((row) => row.matches(":focus"));
  rows[Math.max(0, Math.min(rows.length - 1, at + by))]?.focus();
}
