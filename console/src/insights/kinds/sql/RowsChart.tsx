import { useMemo } from "react";
import { BigNumber, Categories } from "@/charts";
import { words } from "@/words/sql";
import { drawRows, numberOf, numbersIn } from "./drawn";
import type { RowsViewProps } from "./viewProps";

/** The rows of a query as a chart or a number. */
export function RowsChart(props: RowsViewProps) {
  return props.shown.display === "number" ? <FirstNumber {...props} /> : <Chart {...props} />;
}

function Chart({ rows, shown, height }: RowsViewProps) {
  const drawn = useMemo(() => drawRows(rows, shown), [rows, shown]);
  if (drawn === null) return <p className="py-6 text-ink-2">{words.nothingToDraw}</p>;
  const { categories, series, data, left } = drawn;
  const caption = words.caption(series.map(({ name }) => name).join(", "), data.columns[0] ?? "");
  return (
    <Categories
      caption={caption}
      fileName="sql"
      categories={categories}
      series={series}
      form={shown.display === "line" ? "lines" : "grouped"}
      data={data}
      {...(height !== undefined && { height })}
      {...(left > 0 && { note: words.notDrawn(categories.length, left) })}
    />
  );
}

/** The number in the first row, of the chosen column or else the first with numbers. */
function FirstNumber({ rows, shown, height }: RowsViewProps) {
  const { columns, results } = rows;
  const [chosen] = shown.y ?? [];
  const place = chosen === undefined ? (numbersIn(rows)[0] ?? 0) : columns.indexOf(chosen);
  const value = numberOf(results[0]?.[place]);
  if (value === null) return <p className="py-6 text-ink-2">{words.noNumber}</p>;
  const name = columns[place] ?? "";
  return <BigNumber caption={name} totals={[{ name, value }]} height={height} />;
}
