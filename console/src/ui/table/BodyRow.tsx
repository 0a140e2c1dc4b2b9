import { useRouter } from "@tanstack/react-router";
import { type MouseEvent, memo, type ReactNode } from "react";
import { prefix } from "@/lib/prefix";
import { words } from "@/words/table";
import type { Column } from "./columns";

interface Props<Row> {
  id: string;
  index: number;
  /** The height in pixels of the earlier rows that are out of sight. */
  gap: number;
  row: Row;
  columns: readonly Column<Row>[];
  label: ((row: Row) => string) | undefined;
  measure: (element: Element | null) => void;
  isActive: boolean;
  onActive: (index: number) => void;
  onOpen: ((row: Row) => void) | undefined;
  hrefOf: ((row: Row) => string) | undefined;
  isSelected: boolean | undefined;
  onSelect: ((ids: readonly string[], isOn: boolean) => void) | undefined;
}

const CELL = "border-b border-line px-2.5 py-1.5 align-middle h-[37px] group-last:border-b-0";

function DrawnRow<Row>(props: Props<Row>) {
  const { index, row, columns, isSelected, onSelect } = props;
  const router = useRouter();
  const href = props.hrefOf?.(row);
  const canOpen = href !== undefined || props.onOpen !== undefined;

  const open = () => {
    if (props.onOpen) props.onOpen(row);
    else if (href !== undefined) void router.navigate({ href });
  };
  const onClick = (event: MouseEvent<HTMLElement>) => {
    if (!canOpen || isForAnother(event)) return;
    props.onActive(index);
    if (href !== undefined && (event.metaKey || event.ctrlKey)) {
      window.open(prefix + href, "_blank", "noopener");
    } else open();
  };

  const name = props.label?.(row) ?? String(columns[0]?.text(row) ?? words.thisRow);
  return (
    <>
      <Gap height={props.gap} />
      <tr
        ref={props.measure}
        data-index={index}
        data-open={canOpen ? "" : undefined}
        aria-rowindex={index + 2}
        aria-selected={isSelected}
        tabIndex={props.isActive ? 0 : -1}
        onFocus={() => props.onActive(index)}
        onClick={onClick}
        className={`group -outline-offset-2 ${canOpen ? "cursor-pointer hover:bg-sunken" : ""} ${isSelected ? "bg-accent-soft" : ""}`}
      >
        {onSelect && (
          <td className={CELL}>
            <input
              type="checkbox"
              className="block accent-accent"
              aria-label={words.selectRow(name)}
              checked={isSelected ?? false}
              tabIndex={-1}
              onChange={(event) => onSelect([props.id], event.target.checked)}
            />
          </td>
        )}
        {columns.map((column, place) => (
          <td
            key={column.id}
            title={titleOf(column, row)}
            className={`${CELL} ${column.align === "end" ? "text-end tabular-nums" : ""} ${column.wrap ? "" : "truncate"}`}
          >
            {place === 0 && href !== undefined ? (
              <RowLink href={prefix + href} onFollow={open}>
                {column.cell(row)}
              </RowLink>
            ) : (
              column.cell(row)
            )}
          </td>
        ))}
      </tr>
    </>
  );
}

/** Drawn once while it is in sight, however often the table is while it scrolls. */
export const BodyRow = memo(DrawnRow) as typeof DrawnRow;

/** Stands for the rows out of sight. */
export function Gap({ height }: { height: number }) {
  if (height <= 0) return null;
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: it has no focus; rows of a grid that have say so by tabIndex.
    <tr aria-hidden="true">
      <td className="p-0" style={{ height }} />
    </tr>
  );
}

/** A link, so that it can be opened in another tab and copied. */
function RowLink(props: { href: string; onFollow: () => void; children: ReactNode }) {
  return (
    <a
      href={props.href}
      data-row-link=""
      tabIndex={-1}
      className="text-ink hover:underline"
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        props.onFollow();
      }}
    >
      {props.children}
    </a>
  );
}

const TITLE_MIN = 16;
const TITLE_MAX = 500;

/** The whole text of a cell that may be cut. */
function titleOf<Row>(column: Column<Row>, row: Row): string | undefined {
  if (column.wrap) return undefined;
  const text = column.text(row);
  return typeof text === "string" && text.length >= TITLE_MIN
    ? text.slice(0, TITLE_MAX)
    : undefined;
}

/** Whether the click was meant for a control in the row, or ends a selection of text. */
function isForAnother(event: MouseEvent<HTMLElement>): boolean {
  if (event.defaultPrevented) return true;
  const { target } = event;
  if (!(target instanceof Element)) return true;
  // A menu of the row is rendered elsewhere in the page, but its clicks bubble here too.
  if (!event.currentTarget.contains(target)) return true;
  if (target.closest("a, button, input, select, textarea, label, [role=switch]")) return true;
  return (window.getSelection()?.toString() ?? "") !== "";
}
