import type { ReactNode } from "react";
import type { CsvSource } from "./CsvButton";
import type { Column, Sort } from "./columns";

export interface Selection {
  /** Ids of rows. */
  selected: ReadonlySet<string>;
  onChange: (selected: ReadonlySet<string>) => void;
}

export interface More {
  hasMore: boolean;
  isLoading: boolean;
  load: () => void;
}

export interface DataTableProps<Row> {
  /** The key under which the user's choice of columns is stored. */
  name: string;
  /** Accessible name. */
  label: string;
  /** Keep it stable, such as at module level or memoized. */
  columns: readonly Column<Row>[];
  /** Keep it stable, such as by memoizing it. */
  rows: readonly Row[];
  rowId: (row: Row) => string;
  /** The name of a row for screen readers; by default the text of its first column. */
  rowLabel?: (row: Row) => string;
  onOpen?: (row: Row) => void;
  /** Path of the row's page, inside of the application. */
  hrefOf?: (row: Row) => string;
  /** Kept by the caller, such as in the address; without it, by the table. */
  sort?: Sort | null;
  onSort?: (sort: Sort | null) => void;
  /** The rows come sorted as `sort` says; else they are sorted here. */
  isSortedByServer?: boolean;
  selection?: Selection;
  more?: More;
  /** The number of all rows, if more exist than are loaded. */
  total?: number;
  /** Whether `total` is a lower bound, because counting stopped there. */
  isTotalMore?: boolean;
  csv?: CsvSource<Row>;
  empty?: ReactNode;
  toolbar?: ReactNode;
  initiallyHidden?: readonly string[];
  /** CSS length; by default what the window leaves. */
  maxHeight?: string;
}
