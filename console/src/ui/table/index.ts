export { CsvButton, type CsvSource } from "./CsvButton";
export { type Column, orderOf, type Plain, readSort, type Sort, writeSort } from "./columns";
export { CSV_TYPE, type CsvRows, csvCell, csvLine, download } from "./csv";
export { DataTable } from "./DataTable";
export type { DataTableProps, More, Selection } from "./types";
