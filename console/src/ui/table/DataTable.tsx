import { useCallback, useMemo, useState } from "react";
import { Button } from "@/ui/Button";
import { words } from "@/words/table";
import { ColumnsMenu } from "./ColumnsMenu";
import { CsvButton } from "./CsvButton";
import { type Column, type Sort, sortRows } from "./columns";
import { type ColumnPreferences, useColumnPreferences } from "./preferences";
import { TableGrid } from "./TableGrid";
import type { DataTableProps } from "./types";

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

  const shown = useMemo(() => shownColumns(columns, preferences), [columns, preferences]);
  const { isSortedByServer } = props;
  const sortedRows = useMemo(
    () => (isSortedByServer ? rows : sortRows(rows, columns, sorted)),
    [isSortedByServer, rows, columns, sorted],
  );

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
        rowId={rowId}
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
  const { label, rowLabel, onOpen, hrefOf, selection, more, empty, maxHeight } = props;
  const total = props.isTotalMore ? undefined : props.total;
  return { label, rowLabel, onOpen, hrefOf, selection, more, total, empty, maxHeight };
}

function countOf<Row>(props: DataTableProps<Row>): string {
  const { rows, total, isTotalMore = false, more, selection } = props;
  if (selection && selection.selected.size > 0) return words.selected(selection.selected.size);
  if (total !== undefined && total > rows.length) {
    return isTotalMore ? words.rowsOfMore(rows.length, total) : words.rowsOf(rows.length, total);
  }
  return more?.hasMore ? words.rowsSoFar(rows.length) : words.rows(rows.length);
}
