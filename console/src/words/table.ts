import { counted, formatNumber } from "@/words/format";

export const words = {
  columns: "Columns",
  columnsOf: (table: string) => `Columns of ${table}`,
  reset: "Reset",
  moveUp: (column: string) => `Move ${column} up`,
  moveDown: (column: string) => `Move ${column} down`,
  csv: "CSV",
  csvTitle: "Download all rows as CSV, with the columns shown",
  csvRunning: (rows: number) => `${counted(rows, "row", "rows")}…`,
  csvCancel: "Cancel the download",
  csvFailed: "The download failed. Try again.",
  rows: (shown: number) => counted(shown, "row", "rows"),
  rowsOf: (shown: number, total: number) =>
    `${formatNumber(shown)} of ${counted(total, "row", "rows")}`,
  rowsOfMore: (shown: number, total: number) =>
    `${formatNumber(shown)} of more than ${counted(total, "row", "rows")}`,
  rowsSoFar: (shown: number) => `${counted(shown, "row", "rows")} so far`,
  selected: (count: number) => `${formatNumber(count)} selected`,
  selectAll: "Select all rows",
  selectRow: (row: string) => `Select ${row}`,
  thisRow: "this row",
  loadMore: "Load more",
  loading: "Loading…",
  empty: "Nothing here.",
  nextRow: "Next row",
  previousRow: "Previous row",
  keys: "Keys: j and k move, enter opens, x selects.",
  keysWithoutSelection: "Keys: j and k move, enter opens.",
} as const;
