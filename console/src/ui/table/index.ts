export type { CsvSource } from "./CsvButton";
export type { Column, Plain, Sort } from "./columns";
export { type CsvRows, csvCell, csvLine } from "./csv";
export { DataTable, type DataTableProps, type More } from "./DataTable";
export { CSV_TYPE, download } from "./download";
export type { Selection } from "./TableGrid";
