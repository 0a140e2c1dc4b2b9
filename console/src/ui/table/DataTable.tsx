import {
  type ColumnDef,
  createSortedRowModel,
  rowSortingFeature,
  tableFeatures,
  useTable,
} from "@tanstack/react-table";
import { useCallback, useMemo, useState } from "react";
import { Button } from "@/ui/Button";
import { words } from "@/words/table";
import { ColumnsMenu } from "./ColumnsMenu";
import { CsvButton } from "./CsvButton";
import { type Column, compareKeys, type Sort, sortKey } from "./columns";
import { type ColumnPreferences, useColumnPreferences } from "./preferences";
import { TableGrid } from "./TableGrid";
import type { DataTableProps } from "./types";

const features = tableFeatures({
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
});
type Features = typeof features;

const NONE_HIDDEN: readonly string[] = [];

/** A table as every screen has it: sorted, with columns to choose, exported, and long without harm. */
export function DataTable<Row extends object>(props: DataTableProps<Row>) {
  const { columns, rows, rowId, sort, onSort } = props;
  const { preferences, setPreferences, reset, isChanged } = useColumnPreferences(
    props.name,
    columns,
    props.initiallyHidden ?? NONE_HIDDEN,
  );
  const [ownSort, setOwnSort] = useState<Sort | null>(null);
  const sorted = sort === undefined ? ownSort : sort;
  const setSort = useCallback(
    (next: Sort | null) => {
      setOwnSort(next);
      onSort?.(next);
    },
    [onSort],
  );

  const definitions = useMemo(() => columns.map(definitionOf<Row>), [columns]);
  const sorting = useSorting(sorted);
  const table = useTable<Features, Row>({
    features,
    columns: definitions,
    data: rows,
    getRowId: rowId,
    manualSorting: props.isSortedByServer ?? false,
    state: { sorting },
  });
  const shown = useMemo(() => shownColumns(columns, preferences), [columns, preferences]);
  const sortedRows = table.getRowModel().rows;

  return (
    <div className="flex min-w-0 flex-col gap-2">
      <div data-toolbar className="flex flex-wrap items-center justify-end gap-2">
        {props.toolbar !== undefined && (
          <div className="flex min-w-0 flex-1 basis-64 flex-wrap items-center gap-2">
            {props.toolbar}
          </div>
        )}
        <div className="flex flex-wrap items-center justify-end gap-2">
          <span className="text-sm text-ink-3" role="status">
            {countOf(props)}
          </span>
          {props.csv && <CsvButton source={props.csv} columns={shown} />}
          <ColumnsMenu
            label={props.label}
            columns={columns}
            preferences={preferences}
            onChange={setPreferences}
            onReset={isChanged ? reset : undefined}
          />
        </div>
      </div>
      <TableGrid
        {...gridProps(props)}
        columns={shown}
        rows={sortedRows}
        sort={sorted}
        onSort={setSort}
      />
      {props.more?.hasMore && (
        <div>
          <Button small isBusy={props.more.isLoading} onClick={props.more.load}>
            {props.more.isLoading ? words.loading : words.loadMore}
          </Button>
        </div>
      )}
    </div>
  );
}

/** Returns the same array until the sort changes, because a new array sorts the rows again. */
function useSorting(sorted: Sort | null) {
  const { column, descending } = sorted ?? { column: null, descending: false };
  return useMemo(
    () => (column === null ? [] : [{ id: column, desc: descending }]),
    [column, descending],
  );
}

function definitionOf<Row extends object>(column: Column<Row>): ColumnDef<Features, Row> {
  return {
    id: column.id,
    accessorFn: (row) => sortKey(column.text(row)),
    enableSorting: column.sortable ?? false,
    sortUndefined: "last",
    sortFn: (a, b, id) => compareKeys(a.getValue(id), b.getValue(id)),
  };
}

function shownColumns<Row>(
  columns: readonly Column<Row>[],
  { order, hidden }: ColumnPreferences,
): Column<Row>[] {
  const byId = new Map(columns.map((column) => [column.id, column]));
  return order.flatMap((id) => {
    const column = byId.get(id);
    return column === undefined || (hidden.includes(id) && !column.fixed) ? [] : [column];
  });
}

function gridProps<Row extends object>(props: DataTableProps<Row>) {
  const { label, rowLabel, onOpen, hrefOf, selection, more, total, empty, maxHeight } = props;
  return { label, rowLabel, onOpen, hrefOf, selection, more, total, empty, maxHeight };
}

function countOf<Row>({ rows, total, more, selection }: DataTableProps<Row>): string {
  if (selection && selection.selected.size > 0) return words.selected(selection.selected.size);
  if (total !== undefined && total > rows.length) return words.rowsOf(rows.length, total);
  return more?.hasMore ? words.rowsSoFar(rows.length) : words.rows(rows.length);
}
