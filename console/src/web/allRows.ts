import type { Column } from "@/ui/table";
import { words } from "@/words/web";
import type { Breakdown } from "./breakdowns";
import { type ApiGroup, bothOf, searchOf } from "./conditions";
import { countriesNamed, wholeName } from "./names";
import { formatCell } from "./numbers";
import { type Answer, ask, type Common, type Row, rowsOf, tableOf } from "./queries";
import type { View } from "./view";

const CSV_PAGE = 1_000;

/** Return the numeric columns of a table of all rows. */
export function numbersOf(by: Breakdown, { common: { goal } }: View): readonly string[] {
  if (by === "ExternalClicks") return ["visitors", "clicks"];
  if (goal !== undefined)
    return ["visitors", "total_conversions", "unique_conversions", "conversion_rate"];
  const times = by === "Page" ? ["avg_time_on_page"] : [];
  return ["visitors", "views", ...times, "bounce_rate"];
}

/** Return the columns of a table of all rows, with numbers as the API returns them. */
export function valueColumns(by: Breakdown, view: View): Column<Row>[] {
  const { isCompared } = view.common;
  const name: Column<Row> = {
    id: "value",
    header: words.column(by),
    grow: true,
    fixed: true,
    cell: ({ value }) => wholeName(by, value),
    text: ({ value }) => wholeName(by, value),
  };
  return [
    name,
    ...numbersOf(by, view).flatMap((column) => [
      numberColumn(column, 0),
      ...(isCompared ? [numberColumn(column, 1)] : []),
    ]),
  ];
}

function numberColumn(column: string, place: 0 | 1): Column<Row> {
  const header = words.columns[column] ?? column;
  return {
    id: place === 0 ? column : `${column}_before`,
    header: place === 0 ? header : words.before(header),
    align: "end",
    width: place === 0 ? 120 : 150,
    sortable: place === 0,
    cell: ({ numbers }) => formatCell(numbers[column]?.[place] ?? null, column),
    text: ({ numbers }) => numbers[column]?.[place] ?? null,
  };
}

/** Return the common query parts, plus a search text that row names must contain. */
export function searched(common: Common, by: Breakdown, text: string): Common {
  const codes = by === "Country" && text !== "" ? countriesNamed(text) : null;
  const found: ApiGroup | undefined = searchOf(by, text, codes);
  return { ...common, properties: bothOf(common.properties, found) };
}

/** A page of all rows. */
export const pageOf =
  (view: View, by: Breakdown, text: string, order: string | undefined) =>
  (offset: number, limit: number) =>
    tableOf(searched(view.common, by, text), {
      breakdown: by,
      cleansPaths: view.rules.length > 0,
      withBounces: true,
      withTimes: true,
      limit,
      offset,
      ...(order !== undefined && { order }),
    });

/** Every row of a table, page by page. */
export async function* everyValue(
  projectId: string,
  view: View,
  by: Breakdown,
  order: string | undefined,
  signal: AbortSignal,
  text = "",
): AsyncGenerator<Row> {
  const page = pageOf(view, by, text, order);
  let answer: Answer;
  let offset = 0;
  do {
    answer = await ask(projectId, page(offset, CSV_PAGE), "recent", signal);
    yield* rowsOf(answer);
    offset += CSV_PAGE;
  } while (answer.hasMore);
}
