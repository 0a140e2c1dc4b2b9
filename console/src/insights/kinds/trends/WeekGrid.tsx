import { useRef } from "react";
import { formatCompact, formatNumber } from "@/words/format";
import { words } from "@/words/insightsWeek";
import { keepInTabs, moveFocus, shadeOf } from "../numberGrid";
import { DAYS, HOURS, type Week, whenOf } from "./week";

export interface WeekGridProps {
  week: Week;
  onOpen: ((weekday: number | undefined, hour: number | undefined) => void) | undefined;
}

const HEAD = "whitespace-nowrap px-1 py-1 font-normal text-ink-2";
const STICKY = "sticky start-0 z-10 bg-panel";

/** A row for each weekday and a column for each hour, shaded by their numbers. */
export function WeekGrid({ week, onOpen }: WeekGridProps) {
  const table = useRef<HTMLTableElement>(null);
  const most = Math.max(1, ...DAYS.flatMap((day) => HOURS.map((hour) => week.at(day, hour))));
  return (
    <div className="relative min-w-0 overflow-auto rounded-lg border border-line bg-panel">
      <table
        ref={table}
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: arrow keys move through it.
        role="grid"
        aria-label={words.week}
        title={words.keys}
        className="w-full border-separate border-spacing-0 text-xs tabular-nums"
        onKeyDown={(event) => moveFocus(event, table.current)}
        onFocus={({ target }) => keepInTabs(table.current, target)}
      >
        <thead>
          <tr>
            <th scope="col" className={`${HEAD} ${STICKY} text-start`}>
              {words.weekday}
            </th>
            {HOURS.map((hour) => (
              <th
                key={hour}
                scope="col"
                title={words.hours(hour)}
                className={`${HEAD} text-center`}
              >
                {hour}
              </th>
            ))}
            <th scope="col" className={`${HEAD} text-end`}>
              {words.allHours}
            </th>
          </tr>
        </thead>
        <tbody>
          {[...DAYS, undefined].map((weekday) => (
            <tr key={weekday ?? "all"}>
              <th scope="row" className={`${HEAD} ${STICKY} text-start`}>
                {words.nameOfDay(weekday)}
              </th>
              {[...HOURS, undefined].map((hour) => (
                <Value
                  key={hour ?? "all"}
                  value={week.at(weekday, hour)}
                  when={whenOf(weekday, hour)}
                  share={
                    weekday === undefined || hour === undefined
                      ? null
                      : week.at(weekday, hour) / most
                  }
                  isInTabs={weekday === 1 && hour === 0}
                  onOpen={onOpen && (() => onOpen(weekday, hour))}
                />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface ValueProps {
  value: number;
  when: string;
  /** The part of the largest number; null for a number of all days or all hours. */
  share: number | null;
  /** Whether Tab reaches it. */
  isInTabs: boolean;
  onOpen: (() => void) | undefined;
}

function Value({ value, when, share, isInTabs, onOpen }: ValueProps) {
  return (
    <td className="p-px">
      <button
        type="button"
        data-value
        tabIndex={isInTabs ? 0 : -1}
        disabled={onOpen === undefined}
        title={`${when}: ${formatNumber(value)}`}
        className={`block h-8 w-full min-w-6 whitespace-nowrap rounded px-0.5 text-ink enabled:hover:outline enabled:hover:outline-ink-3 ${share === null ? "bg-sunken text-end" : "text-center"}`}
        style={share === null ? undefined : { background: shadeOf(share, 1) }}
        onClick={onOpen}
      >
        {formatCompact(value)}
      </button>
    </td>
  );
}
