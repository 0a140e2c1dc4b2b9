import type { ReactNode } from "react";

/** What a cell holds as data: for CSV, and for sorting in the browser. */
export type Plain = string | number | boolean | Date | null | undefined;

export interface Column<Row> {
  /** Unique in the table; kept in the person's preferences. */
  id: string;
  header: string;
  cell: (row: Row) => ReactNode;
  text: (row: Row) => Plain;
  align?: "start" | "end";
  /** In pixels; of a column that grows, the least. */
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

/** Where a column with a link or a name begins; the same for header and cells. */
export const WIDTH = { fixed: 120, grow: 180, selection: 40 } as const;

export function widthOf<Row>(column: Column<Row>): number {
  return column.width ?? (column.grow ? WIDTH.grow : WIDTH.fixed);
}

/** Numbers as numbers, dates as instants, texts as people read them; what is missing stands last. */
export function compare(a: Plain, b: Plain): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (a instanceof Date && b instanceof Date) return a.getTime() - b.getTime();
  if (typeof a === "boolean" && typeof b === "boolean") return Number(a) - Number(b);
  return collator.compare(String(a), String(b));
}

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
