import type { ReactNode } from "react";

/** The value of a cell, for CSV and for sorting in the browser. */
export type Plain = string | number | boolean | Date | null | undefined;

export interface Column<Row> {
  /** Unique in the table; kept in the person's preferences. */
  id: string;
  header: string;
  cell: (row: Row) => ReactNode;
  text: (row: Row) => Plain;
  align?: "start" | "end";
  /** The width in pixels; for a column that grows, the minimum width. */
  width?: number;
  /** Takes a share of the width that is left. */
  grow?: boolean;
  sortable?: boolean;
  /** Breaks long contents into lines, where others cut them. */
  wrap?: boolean;
  /** Cannot be hidden, such as the name. */
  fixed?: boolean;
}

export interface Sort {
  column: string;
  descending: boolean;
}

/** Read the sort of an address or a preference, such as "-volume" for descending; "" is none. */
export function readSort(text: string): Sort | null {
  if (text === "") return null;
  return { column: text.replace(/^-/, ""), descending: text.startsWith("-") };
}

export const writeSort = (sort: Sort | null): string =>
  sort === null ? "" : `${sort.descending ? "-" : ""}${sort.column}`;

/** Return a sort as the API's `order`; "" for none. fields: by the id of a column */
export function orderOf(sort: Sort | null, fields: Readonly<Record<string, string>>): string {
  const field = sort === null ? undefined : fields[sort.column];
  return field === undefined ? "" : `${sort?.descending ? "-" : ""}${field}`;
}

/** The default widths of columns, in pixels. */
export const WIDTH = { fixed: 120, grow: 180, selection: 40 } as const;

export function widthOf<Row>(column: Column<Row>): number {
  return column.width ?? (column.grow ? WIDTH.grow : WIDTH.fixed);
}

/**
 * What rows are sorted by: numbers and instants as numbers, texts without accents and in one case,
 * with their numbers of one length ("item 9" stands before "item 10"). Computed once for each row,
 * since comparing 100,000 texts by the rules of a language takes a second.
 */
export function sortKey(value: Plain): number | string | undefined {
  if (value === null || value === undefined || value === "") return undefined;
  if (value instanceof Date) return value.getTime();
  if (typeof value !== "string") return Number(value);
  const plain = ASCII.test(value) ? value : value.normalize("NFKD").replace(MARKS, "");
  return plain.toLowerCase().replace(DIGITS, (digits) => digits.padStart(DIGITS_MAX, "0"));
}

const ASCII = /^[ -~]*$/;
const MARKS = /\p{Mark}/gu;
const DIGITS = /\d+/g;
const DIGITS_MAX = 16;

/** Ascending; numbers stand before texts. */
export function compareKeys(a: number | string, b: number | string): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Return the rows in the order of a column. Rows without a value stand last in both directions, and
 * equal rows keep their order.
 */
export function sortRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sort: Sort | null,
): readonly Row[] {
  const column = columns.find((candidate) => candidate.id === sort?.column);
  if (sort === null || !column?.sortable) return rows;
  const direction = sort.descending ? -1 : 1;
  const keyed = rows.map((row) => ({ row, key: sortKey(column.text(row)) }));
  keyed.sort((a, b) => {
    if (a.key === undefined || b.key === undefined) {
      return Number(a.key === undefined) - Number(b.key === undefined);
    }
    return direction * compareKeys(a.key, b.key);
  });
  return keyed.map(({ row }) => row);
}
