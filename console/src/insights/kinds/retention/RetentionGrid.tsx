import { ChevronDown, ChevronRight } from "lucide-react";
import { useRef, useState } from "react";
import { intervalName } from "@/charts";
import { formatNumber, formatShare } from "@/words/format";
import { words } from "@/words/insightsRetention";
import { keepInTabs, moveFocus, shadeOf } from "../numberGrid";
import { type Cohort, type Group, groupsOf, meansOf, shareOf } from "./cohorts";
import { type RetentionOptions, showsValues, spanOf } from "./options";
import type { Period } from "./query";
import { isNumber, placesOf } from "./table";

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
  const places = placesOf(cohorts, options);
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
    ...group.cohorts.flatMap(({ numbers }) =>
      numbers.slice(1).map((_, at) => shareOf(numbers, at + 1, options.reference) ?? 0),
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
              isSize
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
  const length = (places.at(-1) ?? 0) + 1;
  const means = mean === "none" ? [] : meansOf(group.cohorts, length, reference, mean);
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
  /** Whether it is the number of persons in the cohort. */
  isSize?: boolean;
}

function Value(props: ValueProps) {
  const { cohort, place, most, isInTabs = false, isSize = false, options, onOpen } = props;
  const number = isSize ? cohort.counts[0] : cohort.numbers[place];
  if (number === undefined) return <td />;
  const share = shareOf(cohort.numbers, place, options.reference);
  const isPartial = !isSize && cohort.partial !== undefined && place >= cohort.partial;
  const isNumeric = isNumber(place, options);
  const shown = isNumeric ? formatNumber(number) : share === null ? "–" : percent(share);
  const other = isNumeric && share !== null ? percent(share) : formatNumber(number);
  const hint = showsValues(options)
    ? words.valueOf(other, props.sizeName, cohort.counts[place] ?? 0)
    : other;
  return (
    <td className="p-0.5">
      <button
        type="button"
        data-value
        tabIndex={isInTabs ? 0 : -1}
        disabled={onOpen === undefined}
        title={isSize ? undefined : isPartial ? `${hint}, ${words.partial}` : hint}
        className={`block h-8 w-full min-w-14 whitespace-nowrap rounded px-1.5 text-ink enabled:hover:outline enabled:hover:outline-ink-3 ${isSize ? "text-end" : "text-center"} ${isPartial ? "border border-ink-3 border-dashed" : ""}`}
        style={place === 0 ? undefined : { background: shadeOf(share ?? 0, most) }}
        onClick={() => onOpen?.(cohort, place)}
      >
        {shown}
        {isPartial && <span className="sr-only">{words.partial}</span>}
      </button>
    </td>
  );
}
