import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useState } from "react";
import { withActions } from "@/actions";
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
import { apiGoalOf, goalColumns, nameOfGoal, storageOf } from "./goals";
import { shortened } from "./names";
import { formatCell } from "./numbers";
import { goalsOf, type Row, rowsOf, webQuery } from "./queries";
import { GOALS_MAX } from "./search";
import { TableState } from "./TableState";
import { useInSight } from "./useInSight";
import type { View } from "./view";

export interface GoalsProps {
  view: View;
  isReady: boolean;
}

/** The goals, with how many visitors reached each. */
export default function Goals({ view, isReady }: GoalsProps) {
  const projectId = useProjectId();
  const [box, isSeen] = useInSight<HTMLElement>(isReady);
  const { goals } = view;
  const question = goalsOf(view.common, goals.map(apiGoalOf));
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
        actions={<AddGoal goals={goals} onAdd={(goal) => set([...goals, goal])} />}
      >
        {goals.length === 0 ? (
          <p className="max-w-3xl text-ink-2">{words.goalsHint}</p>
        ) : (
          <TableState query={table} rows={rows} isFiltered={view.where.length > 0}>
            <GoalTable
              view={view}
              rows={rows}
              isBusy={table.isPlaceholderData}
              onRemove={(goal) => set(goals.filter((one) => one !== goal))}
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

function AddGoal({ goals, onAdd }: { goals: readonly string[]; onAdd: (goal: string) => void }) {
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
        options={withActions(eventOptions(projectId), projectId)}
        value={null}
        onChange={(goal) => {
          if (goal === null) return;
          setCount(count + 1);
          if (!goals.includes(goal)) onAdd(goal);
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
  onRemove: (goal: string) => void;
}

function GoalTable({ view, rows, isBusy, onRemove }: GoalTableProps) {
  const { search, change, common, goals } = view;
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
        {rows.map(({ value, numbers }, place) => {
          // The answer has the goals in their order; while another one is calculated, only by name.
          const goal = isBusy ? goals.find((one) => nameOfGoal(one) === value) : goals[place];
          const name = String(value);
          const isOn = goal !== undefined && search.goal === goal;
          const [now = null, before = null] = numbers.converting_users ?? [];
          return (
            <tr key={goal ?? name} className="group">
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
                    title={words.goalChip(shortened(name))}
                    onClick={() => change({ goal: isOn ? undefined : goal })}
                    className={classes(
                      "relative min-w-0 flex-1 truncate px-2 py-1 text-start [&_bdi]:whitespace-nowrap hover:underline",
                      isOn && "font-medium",
                    )}
                  >
                    <Visible text={shortened(name)} />
                  </button>
                  <button
                    type="button"
                    aria-label={words.removeGoal(shortened(name))}
                    title={words.removeGoal(shortened(name))}
                    onClick={() => goal !== undefined && onRemove(goal)}
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
