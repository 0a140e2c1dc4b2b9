import type { Column, Sort } from "@/ui/table";
import { compareKeys, sortKey } from "@/ui/table/columns";

/** As the table is shown, for what is exported too: what is missing stands last. */
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
