import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useState } from "react";
import { useProjectId } from "@/app/session";
import { eventOptions } from "@/events";
import { writeStored } from "@/lib/storage";
import { classes } from "@/ui/classes";
import { Combobox } from "@/ui/combobox";
import { Card } from "@/ui/Page";
import { Visible } from "@/ui/properties";
import { CsvButton } from "@/ui/table";
import { words } from "@/words/web";
import { Age } from "./Age";
import { Change } from "./Change";
import { changeOf } from "./figures";
import { goalColumns, storageOf } from "./goals";
import { shortened } from "./names";
import { formatCell } from "./numbers";
import { goalsOf, type Row, rowsOf, webQuery } from "./queries";
import { GOALS_MAX } from "./search";
import { TableState } from "./TableState";
import { useInSight } from "./useInSight";
import type { View } from "./view";

/** The goals, with how many visitors reached each. */
export function Goals({ view, isReady }: { view: View; isReady: boolean }) {
  const projectId = useProjectId();
  const [box, isSeen] = useInSight<HTMLElement>(isReady);
  const { goals } = view;
  const question = goalsOf(view.common, goals);
  const table = useQuery({
    ...webQuery(projectId, question),
    enabled: isSeen && goals.length > 0,
  });
  const rows = rowsOf(table.data ?? { results: [], columns: [] });
  const set = (next: readonly string[]) => {
    writeStored(storageOf(projectId), next);
    const isGone = view.search.goal !== undefined && !next.includes(view.search.goal);
    view.change({ goals: next, ...(isGone && { goal: undefined }) });
  };
  return (
    <section ref={box} aria-label={words.goals}>
      <Card
        title={words.goals}
        actions={<AddGoal goals={goals} onAdd={(event) => set([...goals, event])} />}
      >
        {goals.length === 0 ? (
          <p className="max-w-3xl text-ink-2">{words.goalsHint}</p>
        ) : (
          <TableState query={table} rows={rows} isFiltered={view.where.length > 0}>
            <GoalTable
              view={view}
              rows={rows}
              isBusy={table.isPlaceholderData}
              onRemove={(event) => set(goals.filter((one) => one !== event))}
            />
          </TableState>
        )}
        {rows.length > 0 && (
          <div className="mt-2 flex flex-wrap items-center gap-2">
            <span className="-ms-2">
              <CsvButton
                columns={goalColumns(view.common.isCompared)}
                source={{ fileName: words.csvOf(words.goals), all: () => rows }}
              />
            </span>
            <span className="ms-auto">
              <Age at={table.data?.at ?? null} />
            </span>
          </div>
        )}
      </Card>
    </section>
  );
}

function AddGoal({ goals, onAdd }: { goals: readonly string[]; onAdd: (event: string) => void }) {
  const projectId = useProjectId();
  // Clears the field after each choice.
  const [count, setCount] = useState(0);
  if (goals.length >= GOALS_MAX)
    return <p className="text-ink-2 text-sm">{words.goalsMax(GOALS_MAX)}</p>;
  return (
    <div className="w-64 max-w-full">
      <Combobox
        key={count}
        label={words.addGoal}
        hideLabel
        options={eventOptions(projectId)}
        value={null}
        onChange={(event) => {
          if (event === null) return;
          setCount(count + 1);
          if (!goals.includes(event)) onAdd(event);
        }}
        placeholder={words.addGoal}
      />
    </div>
  );
}

// A narrow screen has no room for all of them.
const widthOf = (column: string): string =>
  column === "total_conversions" ? "w-[6.5rem] max-sm:hidden" : "w-[5.5rem]";

const COLUMNS = ["converting_users", "total_conversions", "conversion_rate"];

interface GoalTableProps {
  view: View;
  rows: readonly Row[];
  isBusy: boolean;
  onRemove: (event: string) => void;
}

function GoalTable({ view, rows, isBusy, onRemove }: GoalTableProps) {
  const { search, change, common } = view;
  const most = Math.max(1, ...rows.map(({ numbers }) => numbers.converting_users?.[0] ?? 0));
  return (
    <table
      aria-label={words.goals}
      aria-busy={isBusy}
      className={classes(
        "w-full table-fixed border-separate border-spacing-y-0.5",
        isBusy && "opacity-60",
      )}
    >
      <thead>
        <tr className="text-ink-3 text-sm">
          <th scope="col" className="pb-0.5 text-start font-medium">
            {words.goal}
          </th>
          {COLUMNS.map((column) => (
            <th
              key={column}
              scope="col"
              className={classes(widthOf(column), "pb-0.5 text-end font-medium")}
            >
              {words.columns[column]}
            </th>
          ))}
          {common.isCompared && (
            <th scope="col" className="w-[4.5rem] pb-0.5 text-end font-medium">
              {words.change}
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ value, numbers }) => {
          const event = String(value);
          const isOn = search.goal === event;
          const [now = null, before = null] = numbers.converting_users ?? [];
          return (
            <tr key={event} className="group">
              <th scope="row" className="p-0 text-start font-normal">
                <span className="relative flex min-w-0 items-center rounded">
                  <span
                    aria-hidden
                    className="absolute inset-y-0 start-0 rounded bg-accent-soft"
                    style={{ width: `${Math.max(0.5, (100 * (now ?? 0)) / most)}%` }}
                  />
                  <button
                    type="button"
                    aria-pressed={isOn}
                    title={words.goalChip(shortened(event))}
                    onClick={() => change({ goal: isOn ? undefined : event })}
                    className={classes(
                      "relative min-w-0 flex-1 truncate px-2 py-1 text-start [&_bdi]:whitespace-nowrap hover:underline",
                      isOn && "font-medium",
                    )}
                  >
                    <Visible text={shortened(event)} />
                  </button>
                  <button
                    type="button"
                    aria-label={words.removeGoal(shortened(event))}
                    title={words.removeGoal(shortened(event))}
                    onClick={() => onRemove(event)}
                    className="relative me-1 shrink-0 rounded p-1 text-ink-3 opacity-0 hover:text-ink focus-visible:opacity-100 group-hover:opacity-100 pointer-coarse:opacity-100"
                  >
                    <X aria-hidden className="size-4" />
                  </button>
                </span>
              </th>
              {COLUMNS.map((column) => (
                <td key={column} className={classes(widthOf(column), "text-end tabular-nums")}>
                  {formatCell(numbers[column]?.[0] ?? null, column)}
                </td>
              ))}
              {common.isCompared && (
                <td className="text-end">
                  <Change change={changeOf(now, before)} before={formatCell(before, "visitors")} />
                </td>
              )}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
