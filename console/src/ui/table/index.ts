export type { CsvSource } from "./CsvButton";
export type { Column, Plain, Sort } from "./columns";
export { type CsvRows, csvCell, csvLine } from "./csv";
export { DataTable } from "./DataTable";
export { CSV_TYPE, download } from "./download";
export type { DataTableProps, More, Selection } from "./types";
