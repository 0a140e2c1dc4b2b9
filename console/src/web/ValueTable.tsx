import { classes } from "@/ui/classes";
import { words } from "@/words/web";
import type { Breakdown } from "./breakdowns";
import { Change } from "./Change";
import { changeOf } from "./figures";
import { formatCell } from "./numbers";
import type { Row } from "./queries";
import { ValueName } from "./ValueName";
import type { View } from "./view";

interface Props {
  by: Breakdown;
  view: View;
  rows: readonly Row[];
  /** The numeric columns. */
  columns: readonly string[];
  /** Whether the rows belong to the previous question. */
  isBusy: boolean;
}

// Columns of the narrow table; the table of all rows has the rest.
const SHOWN = ["visitors", "views", "clicks", "total_conversions", "conversion_rate"];

const widthOf = (column: string): string =>
  column === "total_conversions" ? "w-[6.5rem]" : "w-[5rem]";

/** The first rows of a table. Each can filter the whole screen. */
export function ValueTable({ by, view, rows, columns, isBusy }: Props) {
  const shown = columns.filter((column) => SHOWN.includes(column));
  const most = Math.max(1, ...rows.map(({ numbers }) => numbers.visitors?.[0] ?? 0));
  const { isCompared } = view.common;
  // A narrow screen has no room for all of them.
  const roomOf = (column: string) =>
    column === (isCompared || shown.length > 2 ? shown[1] : undefined) && "max-sm:hidden";
  return (
    <table
      aria-label={words.titles[by]}
      aria-busy={isBusy}
      className={classes(
        "w-full table-fixed border-separate border-spacing-y-0.5",
        isBusy && "opacity-60",
      )}
    >
      <thead>
        <tr className="text-ink-3 text-sm">
          <th scope="col" className="pb-0.5 text-start font-medium">
            {words.column(by)}
          </th>
          {shown.map((column) => (
            <th
              key={column}
              scope="col"
              className={classes("pb-0.5 text-end font-medium", widthOf(column), roomOf(column))}
            >
              {words.columns[column]}
            </th>
          ))}
          {isCompared && (
            <th scope="col" className="w-[4.5rem] pb-0.5 text-end font-medium">
              {words.change}
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ value, numbers }) => {
          const [now = null, before = null] = numbers.visitors ?? [];
          return (
            <tr key={JSON.stringify(value)} className="group">
              <th scope="row" className="p-0 text-start font-normal">
                <ValueName by={by} value={value} share={(now ?? 0) / most} view={view} />
              </th>
              {shown.map((column) => (
                <td key={column} className={classes("text-end tabular-nums", roomOf(column))}>
                  {formatCell(numbers[column]?.[0] ?? null, column)}
                </td>
              ))}
              {isCompared && (
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
