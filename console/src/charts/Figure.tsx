import { ChartLine, Download, Table2 } from "lucide-react";
import {
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useId,
  useRef,
  useState,
} from "react";
import { useShortcuts } from "@/lib/shortcuts";
import { CSV_TYPE, csvLine, download } from "@/ui/table";
import { words } from "@/words/charts";

/** The numbers of a chart. */
export interface FigureData {
  columns: readonly string[];
  /** The first of each row is its name. */
  rows: readonly (readonly (string | number | null)[])[];
}

export interface FigureProps {
  /** What the chart shows, in words. */
  caption: string;
  data: FigureData;
  /** The file name without extension; without it no download is offered. */
  fileName?: string;
  /** Opens the persons or groups behind a number in the table. */
  onOpenNumber?: ((row: number, column: number) => void) | undefined;
  /** Whether a column's numbers can be opened; all can by default. */
  canOpenColumn?: ((column: number) => boolean) | undefined;
  /** Elements beside the buttons. */
  actions?: ReactNode;
  /** A note below: age, limits, and whatever else belongs to the numbers. */
  note?: ReactNode;
  children: ReactNode;
}

const BUTTON =
  "inline-flex size-7 items-center justify-center rounded text-ink-3 hover:bg-sunken hover:text-ink aria-pressed:bg-sunken aria-pressed:text-ink";

/** Every chart stands in one: with its caption, and the same numbers as a table behind the key t. */
export function Figure(props: FigureProps) {
  const { caption, data } = props;
  const [isTable, setIsTable] = useState(false);
  const figure = useRef<HTMLElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const hadFocus = useRef(false);
  const id = useId();
  const Icon = isTable ? ChartLine : Table2;

  useFigureKey(figure, () => {
    hadFocus.current = content.current?.contains(document.activeElement) ?? false;
    setIsTable(!isTable);
  });
  // The focused element is gone, so its replacement gets the focus.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each change.
  useEffect(() => {
    if (!hadFocus.current) return;
    hadFocus.current = false;
    content.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
  }, [isTable]);
  return (
    <figure ref={figure} className="m-0 min-w-0" aria-labelledby={id}>
      <figcaption className="mb-1.5 flex items-start gap-2">
        <span id={id} className="min-w-0 flex-1 text-sm text-ink-2">
          {caption}
        </span>
        {props.actions}
        <button
          type="button"
          className={BUTTON}
          aria-pressed={isTable}
          aria-label={words.showTable}
          aria-keyshortcuts={words.tableKey}
          title={`${isTable ? words.showChart : words.showTable} (${words.tableKey})`}
          onClick={() => setIsTable(!isTable)}
        >
          <Icon size={15} aria-hidden />
        </button>
        {props.fileName !== undefined && (
          <button
            type="button"
            className={BUTTON}
            aria-label={words.csv}
            title={words.csv}
            onClick={() => saveData(data, props.fileName ?? "")}
          >
            <Download size={15} aria-hidden />
          </button>
        )}
      </figcaption>
      <div ref={content} className="min-w-0">
        {isTable ? (
          <NumbersTable
            caption={caption}
            data={data}
            onOpen={props.onOpenNumber}
            canOpenColumn={props.canOpenColumn}
          />
        ) : (
          props.children
        )}
      </div>
      {props.note && <div className="mt-1.5 text-sm text-ink-3">{props.note}</div>}
    </figure>
  );
}

interface NumbersTableProps {
  caption: string;
  data: FigureData;
  /** Opens the persons or groups behind a number. */
  onOpen?: ((row: number, column: number) => void) | undefined;
  canOpenColumn?: FigureProps["canOpenColumn"];
}

/** The numbers of a chart as a table. */
export function NumbersTable({ caption, data, onOpen, canOpenColumn }: NumbersTableProps) {
  return (
    <section
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the box scrolls, and keys must reach it therefore.
      tabIndex={0}
      aria-label={caption}
      aria-description={onOpen && words.tableKeys}
      className="max-h-80 overflow-auto rounded-lg border border-line"
      onKeyDown={onOpen && moveFocus}
    >
      <table className="w-full border-separate border-spacing-0 text-sm">
        <thead>
          <tr>
            {data.columns.map((column, place) => (
              <th
                key={column}
                scope="col"
                className={`sticky top-0 min-w-24 max-w-72 break-words border-b border-line bg-panel px-2.5 py-1.5 font-medium text-ink-2 ${place === 0 ? "text-start" : "text-end"}`}
              >
                <bdi>{column}</bdi>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {data.rows.map((row, place) => (
            <FigureRow
              key={JSON.stringify(row)}
              row={row}
              columns={data.columns}
              onOpen={onOpen && ((column) => onOpen(place, column))}
              canOpenColumn={canOpenColumn}
            />
          ))}
        </tbody>
      </table>
    </section>
  );
}

const STEPS: Readonly<Record<string, readonly [rows: number, columns: number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** Arrow keys move between the numbers that can be opened and skip the rest. */
function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const step = STEPS[event.key];
  if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const rows = [...event.currentTarget.querySelectorAll("tbody tr")].map((row) =>
    [...row.querySelectorAll("td")].map((cell) => cell.querySelector("button")),
  );
  const row = rows.findIndex((cells) => cells.some((one) => one === document.activeElement));
  if (row < 0) {
    rows
      .flat()
      .find((one) => one !== null)
      ?.focus();
    return;
  }
  const column = rows[row]?.indexOf(document.activeElement as HTMLButtonElement) ?? 0;
  for (let at = 1; at < rows.length + (rows[0]?.length ?? 0); at += 1) {
    const next = rows[row + step[0] * at]?.[column + step[1] * at];
    if (next) {
      next.focus();
      return;
    }
  }
}

function FigureRow({
  row,
  columns,
  onOpen,
  canOpenColumn = () => true,
}: {
  row: FigureData["rows"][number];
  columns: readonly string[];
  onOpen: ((column: number) => void) | undefined;
  canOpenColumn: FigureProps["canOpenColumn"];
}) {
  const [name, ...values] = row;
  return (
    <tr className="hover:bg-sunken">
      <th
        scope="row"
        className="whitespace-nowrap border-b border-line px-2.5 py-1 text-start font-normal"
      >
        <bdi>{name}</bdi>
      </th>
      {values.map((value, place) => (
        <td
          key={columns[place + 1]}
          className="border-b border-line px-2.5 py-1 text-end tabular-nums"
        >
          {onOpen !== undefined &&
          canOpenColumn(place + 1) &&
          typeof value === "number" &&
          value !== 0 ? (
            <button
              type="button"
              // The table is a single tab stop; arrow keys move between its numbers.
              tabIndex={-1}
              className="rounded px-1 text-accent-text hover:underline"
              onClick={() => onOpen(place + 1)}
            >
              {words.axis(value)}
            </button>
          ) : (
            textOf(value)
          )}
        </td>
      ))}
    </tr>
  );
}

const textOf = (value: string | number | null | undefined): string =>
  typeof value === "number" ? words.axis(value) : (value ?? words.none);

function saveData(data: FigureData, fileName: string): void {
  const lines = [data.columns, ...data.rows].map(csvLine);
  download(`${fileName}.csv`, ["\uFEFF", ...lines], CSV_TYPE);
}

interface Shown {
  element: RefObject<HTMLElement | null>;
  toggle: RefObject<() => void>;
}

const shown = new Set<Shown>();

/** The key t shows the numbers of the figure with the focus, else of the first that is in sight. */
function useFigureKey(element: RefObject<HTMLElement | null>, toggle: () => void): void {
  const latest = useRef(toggle);
  latest.current = toggle;
  useEffect(() => {
    const one = { element, toggle: latest };
    shown.add(one);
    return () => {
      shown.delete(one);
    };
  }, [element]);
  useShortcuts([{ keys: words.tableKey, label: words.showTable, run: toggleOne }]);
}

function toggleOne(): void {
  const figures = [...shown];
  const focused = figures.find((one) => one.element.current?.contains(document.activeElement));
  (focused ?? figures.find(isInSight))?.toggle.current();
}

function isInSight({ element }: Shown): boolean {
  const box = element.current?.getBoundingClientRect();
  return box !== undefined && box.bottom > 0 && box.top < window.innerHeight;
}
