import { ChevronDown, ChevronUp } from "lucide-react";
import { words } from "@/words/table";
import type { Column, Sort } from "./columns";

interface Props<Row> {
  columns: readonly Column<Row>[];
  sort: Sort | null;
  onSort: (sort: Sort | null) => void;
  isAllSelected?: boolean;
  isSomeSelected?: boolean;
  onSelectAll?: (isOn: boolean) => void;
}

const CELL =
  "sticky top-0 z-20 border-b border-line bg-panel px-2.5 py-1.5 align-bottom text-sm font-medium text-ink-2";

// A long name takes a second line rather than being cut.
const LABEL = "line-clamp-2 min-w-0 break-words";

export function HeaderRow<Row>(props: Props<Row>) {
  const { columns, sort, onSort, onSelectAll } = props;
  return (
    <thead>
      <tr aria-rowindex={1}>
        {onSelectAll && (
          <th scope="col" className={`${CELL} text-start`}>
            <input
              type="checkbox"
              aria-label={words.selectAll}
              className="block accent-accent"
              checked={props.isAllSelected ?? false}
              ref={(element) => {
                if (element)
                  element.indeterminate = !props.isAllSelected && (props.isSomeSelected ?? false);
              }}
              onChange={(event) => onSelectAll(event.target.checked)}
            />
          </th>
        )}
        {columns.map((column) => (
          <HeaderCell key={column.id} column={column} sort={sort} onSort={onSort} />
        ))}
      </tr>
    </thead>
  );
}

function HeaderCell<Row>({
  column,
  sort,
  onSort,
}: {
  column: Column<Row>;
  sort: Sort | null;
  onSort: (sort: Sort | null) => void;
}) {
  const direction =
    sort?.column === column.id ? (sort.descending ? "descending" : "ascending") : undefined;
  const isEnd = column.align === "end";
  const Icon = direction === "descending" ? ChevronDown : ChevronUp;
  return (
    <th
      scope="col"
      aria-sort={direction}
      className={`${CELL} ${isEnd ? "text-end" : "text-start"}`}
    >
      {column.sortable ? (
        <button
          type="button"
          className={`group -mx-1 inline-flex align-bottom max-w-full items-center gap-1 rounded px-1 hover:text-ink ${direction ? "text-ink" : ""} ${isEnd ? "flex-row-reverse text-end" : "text-start"}`}
          onClick={() => onSort(nextSort(column, sort))}
        >
          <span className={LABEL}>{column.header}</span>
          <Icon
            size={13}
            aria-hidden
            className={`shrink-0 ${direction ? "" : "opacity-0 group-hover:opacity-50 group-focus-visible:opacity-50"}`}
          />
        </button>
      ) : (
        <span className={LABEL}>{column.header}</span>
      )}
    </th>
  );
}

/** Ascending, descending, and as they came. */
function nextSort<Row>(column: Column<Row>, sort: Sort | null): Sort | null {
  if (sort?.column !== column.id) return { column: column.id, descending: false };
  return sort.descending ? null : { column: column.id, descending: true };
}
