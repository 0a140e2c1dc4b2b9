import type { Column, Sort } from "@/ui/table";
import { compareKeys, sortKey } from "@/ui/table/columns";

/** Sorts rows as the table shows them, also for the export. Missing values come last. */
export function sorted<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sort: Sort | null,
): readonly Row[] {
  const column = columns.find((one) => one.id === sort?.column);
  if (column === undefined || sort === null) return rows;
  const keyed = rows.map((row) => ({ row, key: sortKey(column.text(row)) }));
  const direction = sort.descending ? -1 : 1;
  keyed.sort((one, other) => {
    if (one.key === undefined || other.key === undefined) {
      return Number(one.key === undefined) - Number(other.key === undefined);
    }
    return direction * compareKeys(one.key, other.key);
  });
  return keyed.map(({ row }) => row);
}
