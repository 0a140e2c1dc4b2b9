import { defaultRangeExtractor, useVirtualizer } from "@tanstack/react-virtual";
import {
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { useShortcuts } from "@/lib/shortcuts";
import { words } from "@/words/table";
import { BodyRow, Gap } from "./BodyRow";
import { type Column, type Sort, WIDTH, widthOf } from "./columns";
import { HeaderRow } from "./HeaderRow";
import type { More, Selection } from "./types";
import { useUsedRow } from "./usedRow";
import { useRowKeys } from "./useRowKeys";

interface Props<Row extends object> {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowId: (row: Row) => string;
  rowLabel: ((row: Row) => string) | undefined;
  onOpen: ((row: Row) => void) | undefined;
  hrefOf: ((row: Row) => string) | undefined;
  sort: Sort | null;
  onSort: (sort: Sort | null) => void;
  selection: Selection | undefined;
  more: More | undefined;
  total: number | undefined;
  empty: ReactNode;
  maxHeight: string | undefined;
}

const ROW_HEIGHT = 37;
const OVERSCAN = 12;
const ROWS_BEFORE_END = 20;

/** The table itself, of which only the rows in sight (and the one with the focus) exist. */
export function TableGrid<Row extends object>(props: Props<Row>) {
  const { columns, rows, rowId, selection, more } = props;
  const box = useRef<HTMLDivElement>(null);
  const help = useId();
  const [active, setActive] = useState(0);
  const usedRow = useUsedRow(props.label);
  const activeIndex = Math.min(active, Math.max(0, rows.length - 1));

  const rangeExtractor = useCallback(
    (range: Parameters<typeof defaultRangeExtractor>[0]) => {
      const indexes = defaultRangeExtractor(range);
      if (rows.length === 0 || indexes.includes(activeIndex)) return indexes;
      return [...indexes, activeIndex].sort((a, b) => a - b);
    },
    [activeIndex, rows.length],
  );
  const rowHeight = useRowHeight(box, columns, rows.length === 0);
  const latestRowId = useRef(rowId);
  latestRowId.current = rowId;
  const getItemKey = useCallback(
    (index: number) => (rows[index] === undefined ? index : latestRowId.current(rows[index])),
    [rows],
  );
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    // All rows are laid out again whenever this is another function.
    getItemKey,
    overscan: OVERSCAN,
    // Without it the first frame has a gap in place of the rows, and all below it moves.
    initialRect: { width: window.innerWidth, height: window.innerHeight },
    rangeExtractor,
    scrollPaddingStart: ROW_HEIGHT,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was laid out with another height is laid out again.
  useLayoutEffect(() => virtualizer.measure(), [virtualizer, rowHeight]);
  const items = virtualizer.getVirtualItems();

  const lastIndex = virtualizer.range?.endIndex ?? 0;
  const isNearEnd = rows.length > 0 && lastIndex >= rows.length - ROWS_BEFORE_END;
  const loadMore = more?.hasMore && !more.isLoading ? more.load : undefined;
  // Loads once for the same rows. After a failure only the button tries again.
  const asked = useRef<typeof rows | null>(null);
  useEffect(() => {
    if (!isNearEnd || loadMore === undefined || asked.current === rows) return;
    asked.current = rows;
    loadMore();
  }, [isNearEnd, loadMore, rows]);

  const move = (index: number) => {
    setActive(index);
    virtualizer.scrollToIndex(index);
    focusRow(box.current, index);
  };
  const onKeyDown = useRowKeys({
    count: rows.length,
    active: activeIndex,
    move,
    pageRows: Math.max(1, Math.floor((box.current?.clientHeight ?? 0) / ROW_HEIGHT) - 2),
    select: selection
      ? (index) => {
          const row = rows[index];
          if (row) select([rowId(row)], !selection.selected.has(rowId(row)));
        }
      : undefined,
  });

  const { note } = usedRow;
  const latestRows = useRef(rows);
  latestRows.current = rows;
  const activate = useCallback(
    (index: number) => {
      setActive(index);
      const row = latestRows.current[index];
      if (row !== undefined) note(latestRowId.current(row));
    },
    [note],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the row is there.
  useEffect(() => {
    const { former } = usedRow;
    const index = rows.findIndex((row) => rowId(row) === former);
    if (former === undefined || index < 0) return;
    usedRow.forget();
    move(index);
  }, [rows, usedRow.former]);

  // Moves the focus from anywhere on the screen to the row that had it last.
  const toActive = () => {
    virtualizer.scrollToIndex(activeIndex);
    focusRow(box.current, activeIndex);
  };
  useShortcuts([
    { keys: "j", label: words.nextRow, run: toActive },
    { keys: "k", label: words.previousRow, run: toActive },
  ]);

  const isAllSelected = useMemo(
    () => rows.length > 0 && rows.every((row) => selection?.selected.has(rowId(row))),
    [rows, rowId, selection],
  );
  const select = useCallback(
    (ids: readonly string[], isOn: boolean) => selection && toggle(selection, ids, isOn),
    [selection],
  );
  const width = columns.reduce(
    (sum, column) => sum + widthOf(column),
    selection ? WIDTH.selection : 0,
  );
  let end = 0;

  return (
    <div
      ref={box}
      data-box
      className="relative min-w-0 overflow-auto rounded-lg border border-line bg-panel"
      style={{
        maxHeight: props.maxHeight ?? "calc(100dvh - 13rem)",
        minHeight: rows.length === 0 ? "6rem" : undefined,
      }}
    >
      <table
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: keys walk through its rows, which makes it a grid.
        role="grid"
        aria-label={props.label}
        aria-describedby={help}
        aria-rowcount={
          more?.hasMore && props.total === undefined ? -1 : (props.total ?? rows.length) + 1
        }
        aria-colcount={columns.length + (selection ? 1 : 0)}
        aria-multiselectable={selection ? true : undefined}
        className="w-full table-fixed border-separate border-spacing-0"
        style={{ minWidth: width }}
        onKeyDown={onKeyDown}
      >
        <colgroup>
          {selection && <col style={{ width: WIDTH.selection }} />}
          {columns.map((column) => (
            <col key={column.id} style={column.grow ? {} : { width: widthOf(column) }} />
          ))}
        </colgroup>
        <HeaderRow
          columns={columns}
          sort={props.sort}
          onSort={props.onSort}
          {...(selection && {
            isAllSelected,
            isSomeSelected: selection.selected.size > 0,
            onSelectAll: (isOn: boolean) => select(rows.map(rowId), isOn),
          })}
        />
        <tbody>
          {items.map((item) => {
            const row = rows[item.index];
            if (row === undefined) return null;
            const gap = item.start - end;
            end = item.end;
            return (
              <BodyRow
                key={rowId(row)}
                id={rowId(row)}
                index={item.index}
                gap={gap}
                row={row}
                columns={columns}
                label={props.rowLabel}
                measure={virtualizer.measureElement}
                isActive={item.index === activeIndex}
                onActive={activate}
                onOpen={props.onOpen}
                hrefOf={props.hrefOf}
                isSelected={selection?.selected.has(rowId(row))}
                onSelect={selection && select}
              />
            );
          })}
          <Gap height={virtualizer.getTotalSize() - end} />
        </tbody>
      </table>
      {rows.length === 0 && (
        <div className="sticky left-0 p-6 text-center text-ink-2">{props.empty ?? words.empty}</div>
      )}
      <p id={help} className="sr-only">
        {selection ? words.keys : words.keysWithoutSelection}
      </p>
    </div>
  );
}

/** The height of the first row, which most others have. */
function useRowHeight(
  box: RefObject<HTMLElement | null>,
  columns: readonly unknown[],
  isEmpty: boolean,
): number {
  const [height, setHeight] = useState(ROW_HEIGHT);
  // biome-ignore lint/correctness/useExhaustiveDependencies: other columns may make other heights.
  useLayoutEffect(() => {
    const row = box.current?.querySelector<HTMLElement>("tr[data-index]");
    if (row) setHeight(row.offsetHeight);
  }, [box, columns, isEmpty]);
  return height;
}

function toggle(selection: Selection, ids: readonly string[], isOn: boolean): void {
  const next = new Set(selection.selected);
  for (const id of ids) {
    if (isOn) next.add(id);
    else next.delete(id);
  }
  selection.onChange(next);
}

/** Focuses a row once it is drawn, which may take a frame. */
function focusRow(box: HTMLElement | null, index: number): void {
  requestAnimationFrame(() => {
    const row = box?.querySelector<HTMLElement>(`tr[data-index="${index}"]`);
    row?.focus({ preventScroll: true });
  });
}
