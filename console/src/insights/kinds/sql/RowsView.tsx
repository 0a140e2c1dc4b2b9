import { lazyPart } from "@/ui/lazyPart";
import { RowsTable } from "./RowsTable";
import type { RowsViewProps } from "./viewProps";

const RowsChart = lazyPart("sql chart", async () => (await import("./RowsChart")).RowsChart);

/** The rows of a query as a table, a chart or a number. */
export function RowsView(props: RowsViewProps) {
  const { rows, shown, height } = props;
  if (shown.display !== "table") return <RowsChart {...props} />;
  return <RowsTable rows={rows} {...(height !== undefined && { maxHeight: `${height}px` })} />;
}
