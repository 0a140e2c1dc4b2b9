import { ChevronDown, ChevronRight } from "lucide-react";
import { type KeyboardEvent, useRef, useState } from "react";
import { intervalName } from "@/charts";
import { formatNumber, formatShare } from "@/words/format";
import { words } from "@/words/insightsRetention";
import { type Cohort, type Group, groupsOf, lengthOf, meansOf, shareOf } from "./cohorts";
import { type RetentionOptions, spanOf } from "./options";
import type { Period } from "./query";

interface Props {
  cohorts: readonly Cohort[];
  options: RetentionOptions;
  period: Period;
  zone: string;
  sizeName: string;
  onOpen: ((cohort: Cohort, place: number) => void) | undefined;
}

const HEAD = "whitespace-nowrap border-line border-b px-2 py-1.5 font-medium text-ink-2";
const STICKY = "sticky start-0 z-10 bg-panel";

/** One row per cohort, shaded by the share that returned. Every number opens its persons. */
export function RetentionGrid(props: Props) {
  const { cohorts, options, period, sizeName } = props;
  const groups = groupsOf(cohorts);
  const [opened, setOpened] = useState<readonly string[]>([]);
  const table = useRef<HTMLTableElement>(null);
  const length = lengthOf(cohorts);
  const places = Array.from({ length: Math.max(0, length - 1) }, (_, at) => at + 1);
  const toggle = (key: string) =>
    setOpened(opened.includes(key) ? opened.filter((one) => one !== key) : [...opened, key]);
  return (
    <div
      className="relative min-w-0 overflow-auto rounded-lg border border-line bg-panel"
      style={{ maxHeight: MAX }}
    >
      <table
        ref={table}
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: arrow keys move through it.
        role="grid"
        aria-label={words.grid}
        title={words.keys}
        className="w-full border-separate border-spacing-0 text-sm tabular-nums"
        onKeyDown={(event) => moveFocus(event, table.current)}
        onFocus={({ target }) => keepInTabs(table.current, target)}
      >
        <thead>
          <tr>
            <th scope="col" className={`${HEAD} ${STICKY} top-0 z-20 text-start`}>
              {words.began}
            </th>
            <th scope="col" className={`${HEAD} sticky top-0 bg-panel text-end`}>
              {sizeName}
            </th>
            {places.map((place) => (
              <th key={place} scope="col" className={`${HEAD} sticky top-0 bg-panel text-center`}>
                {words.after(period, spanOf(options, place))}
              </th>
            ))}
          </tr>
        </thead>
        {groups.map((group, place) => (
          <Rows
            key={group.key}
            {...props}
            group={group}
            places={places}
            isFirst={place === 0}
            isOpen={groups.length === 1 || opened.includes(group.key)}
            onToggle={() => toggle(group.key)}
          />
        ))}
      </table>
    </div>
  );
}

const MAX = "48rem";

interface RowsProps extends Props {
  group: Group;
  places: readonly number[];
  /** Whether Tab reaches the first number of the row. */
  isFirst: boolean;
  isOpen: boolean;
  onToggle: () => void;
}

function Rows(props: RowsProps) {
  const { group, options, isOpen, isFirst } = props;
  const most = Math.max(
    1,
    ...group.cohorts.flatMap(({ counts }) =>
      counts.slice(1).map((_, at) => shareOf(counts, at + 1, options.reference) ?? 0),
    ),
  );
  return (
    <tbody>
      {(group.name !== null || options.mean !== "none") && <Head {...props} />}
      {isOpen &&
        group.cohorts.map((cohort, row) => (
          <tr key={cohort.key}>
            <th
              scope="row"
              className={`${STICKY} whitespace-nowrap px-2 py-0.5 text-start font-normal ${group.name === null ? "" : "ps-8"}`}
            >
              {intervalName(cohort.begin, props.period, props.zone)}
            </th>
            <Value
              {...props}
              cohort={cohort}
              place={0}
              most={most}
              isInTabs={isFirst && row === 0}
            />
            {props.places.map((place) => (
              <Value key={place} {...props} cohort={cohort} place={place} most={most} />
            ))}
          </tr>
        ))}
    </tbody>
  );
}

/** The mean row, overall or for a breakdown value. The row of a value expands its cohorts. */
function Head({ group, options, places, isOpen, onToggle }: RowsProps) {
  const { mean, reference } = options;
  const means = mean === "none" ? [] : meansOf(group.cohorts, places.length + 1, reference, mean);
  const Icon = isOpen ? ChevronDown : ChevronRight;
  const cell = "border-line border-b bg-sunken px-2 py-1.5 text-center font-medium";
  return (
    <tr>
      <th
        scope="row"
        className={`sticky start-0 z-10 border-line border-b bg-sunken px-2 py-1.5 text-start font-medium ${group.name === null ? "whitespace-nowrap" : ""}`}
        title={mean === "none" ? undefined : words.meanHint[mean]}
      >
        {group.name === null ? (
          mean !== "none" && words.meanRow[mean]
        ) : (
          <button
            type="button"
            aria-expanded={isOpen}
            aria-label={words.show(group.name)}
            className="flex max-w-36 items-center gap-1 text-start sm:max-w-64"
            onClick={onToggle}
          >
            <Icon aria-hidden className="size-4 shrink-0 text-ink-3" />
            <bdi className="truncate">{group.name}</bdi>
          </button>
        )}
      </th>
      <td className={cell} />
      {places.map((place) => (
        <td key={place} className={cell}>
          {means[place] === null || means[place] === undefined ? null : percent(means[place])}
        </td>
      ))}
    </tr>
  );
}

const percent = (share: number): string => formatShare(Math.round(share * 10) / 10);

interface ValueProps extends Props {
  cohort: Cohort;
  place: number;
  /** The largest share in its group. */
  most: number;
  isInTabs?: boolean;
}

function Value({ cohort, place, most, isInTabs = false, options, onOpen }: ValueProps) {
  const count = cohort.counts[place];
  if (count === undefined) return <td />;
  const share = shareOf(cohort.counts, place, options.reference);
  const isPartial = place > 0 && cohort.partial !== undefined && place >= cohort.partial;
  const isCount = place === 0 || options.format === "numeric";
  const shown = isCount ? formatNumber(count) : share === null ? "–" : percent(share);
  const other = isCount && share !== null ? percent(share) : formatNumber(count);
  return (
    <td className="p-0.5">
      <button
        type="button"
        data-value
        tabIndex={isInTabs ? 0 : -1}
        disabled={onOpen === undefined}
        title={place === 0 ? undefined : isPartial ? `${other}, ${words.partial}` : other}
        className={`block h-8 w-full min-w-14 whitespace-nowrap rounded px-1.5 text-ink enabled:hover:outline enabled:hover:outline-ink-3 ${place === 0 ? "text-end" : "text-center"} ${isPartial ? "border border-ink-3 border-dashed" : ""}`}
        style={place === 0 ? undefined : { background: shadeOf(share ?? 0, most) }}
        onClick={() => onOpen?.(cohort, place)}
      >
        {shown}
        {isPartial && <span className="sr-only">{words.partial}</span>}
      </button>
    </td>
  );
}

// Text stays readable on the darkest shade.
const LIGHTEST = 4;
const DARKEST = 50;

const shadeOf = (share: number, most: number): string =>
  `color-mix(in srgb, var(--series-2) ${Math.round(LIGHTEST + (share / most) * (DARKEST - LIGHTEST))}%, transparent)`;

const valuesOf = (row: Element | null | undefined): HTMLElement[] => [
  ...(row?.querySelectorAll<HTMLElement>("[data-value]") ?? []),
];

/** Tab reaches one number of the table; arrow keys move to the others. */
function moveFocus(event: KeyboardEvent, table: HTMLTableElement | null): void {
  const at = event.target as HTMLElement;
  if (table === null || !at.matches("[data-value]")) return;
  const rows = [...table.querySelectorAll("tbody tr")].filter((row) => valuesOf(row).length > 0);
  const row = rows.findIndex((one) => one.contains(at));
  const place = valuesOf(rows[row]).indexOf(at);
  const moves: Record<string, [row: number, place: number]> = {
    ArrowLeft: [row, place - 1],
    ArrowRight: [row, place + 1],
    ArrowUp: [row - 1, place],
    ArrowDown: [row + 1, place],
    Home: [row, 0],
    End: [row, Number.POSITIVE_INFINITY],
  };
  const move = moves[event.key];
  if (move === undefined) return;
  event.preventDefault();
  const values = valuesOf(rows[Math.min(rows.length - 1, Math.max(0, move[0]))]);
  values[Math.min(values.length - 1, Math.max(0, move[1]))]?.focus();
}

function keepInTabs(table: HTMLTableElement | null, target: EventTarget & Element): void {
  if (table === null || !target.matches("[data-value]")) return;
  for (const one of table.querySelectorAll<HTMLElement>('[data-value][tabindex="0"]'))
    one.tabIndex = -1;
  (target as HTMLElement).tabIndex = 0;
}
