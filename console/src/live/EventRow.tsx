import { ChevronRight } from "lucide-react";
import { memo } from "react";
import { classes } from "@/ui/classes";
import { plainName, Visible } from "@/ui/properties";
import { ClockTime } from "@/ui/Time";
import { words } from "@/words/live";
import { EventDetails } from "./EventDetails";
import { type LiveEvent, personName, placeOf } from "./liveEvent";
import type { ChangeSearch } from "./search";

interface EventRowProps {
  event: LiveEvent;
  isOpen: boolean;
  onToggle: (id: string) => void;
  onFilter: ChangeSearch;
}

// One line, however many a stranger's text has.
const CELL = "truncate border-line border-b px-3 py-1.5 [&_bdi]:whitespace-nowrap";

/** One line, which opens in its place. */
export const EventRow = memo(function EventRow(props: EventRowProps) {
  const { event, isOpen, onToggle, onFilter } = props;
  return (
    <>
      <tr
        className={classes("cursor-pointer hover:bg-sunken", isOpen && "bg-sunken")}
        onClick={() => onToggle(event.id)}
      >
        <td className={classes(CELL, "text-ink-2 tabular-nums")}>
          <ClockTime at={event.timestamp} seconds />
        </td>
        <td className={CELL}>
          <button
            type="button"
            data-event-row
            aria-expanded={isOpen}
            title={event.event}
            onClick={(click) => {
              click.stopPropagation();
              onToggle(event.id);
            }}
            className="inline-flex max-w-full items-center gap-1 align-bottom font-medium"
          >
            <ChevronRight
              aria-hidden
              className={classes("size-4 shrink-0 text-ink-3", isOpen && "rotate-90")}
            />
            <span className="truncate">
              <Visible text={plainName(event.event)} />
            </span>
          </button>
        </td>
        <td className={CELL}>
          <Visible text={personName(event)} />
        </td>
        <td className={classes(CELL, "text-ink-2 max-md:px-0")}>
          <Visible text={placeOf(event)} />
        </td>
      </tr>
      {isOpen && (
        <tr>
          <td colSpan={4} className="border-line border-b bg-canvas p-4">
            <section aria-label={words.details(event.event)}>
              <EventDetails event={event} onFilter={onFilter} />
            </section>
          </td>
        </tr>
      )}
    </>
  );
});
