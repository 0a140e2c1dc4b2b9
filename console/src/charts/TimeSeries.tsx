import { words } from "@/words/charts";
import { formatNumber } from "@/words/format";
import { NoData } from "./CursorBox";
import { Figure, type FigureProps } from "./Figure";
import { LazyPlot } from "./LazyPlot";
import { Legend } from "./Legend";
import { type MomentMark, NO_MARKS, type Point, type Series, type Threshold } from "./series";
import { type Interval, indexOfMoment, intervalName } from "./time";
import { useCursor } from "./useCursor";

export interface TimeSeriesProps
  extends Pick<FigureProps, "caption" | "fileName" | "actions" | "note">,
    // Replaces the values of the series.
    Partial<Pick<FigureProps, "data" | "onOpenNumber" | "canOpenColumn">> {
  /** Beginnings of the intervals, in order. */
  times: readonly Date[];
  series: readonly Series[];
  interval: Interval;
  /** IANA name of the zone of the intervals; by default the browser's. */
  zone?: string;
  /** The last interval is not over: its line is dashed. */
  isPartial?: boolean;
  /** Formats values in the legend. */
  format?: (value: number) => string;
  onOpen?: (point: Point) => void;
  /** Levels to compare with, such as the limit of a rollback. Keep them stable. */
  thresholds?: readonly Threshold[];
  /** Notes, which the interval that they are in also says. Keep them stable. */
  marks?: readonly MomentMark[];
  /** Stacked areas instead of lines. */
  isStacked?: boolean;
  height?: number;
}

const HEIGHT = 220;
const NO_THRESHOLDS: readonly Threshold[] = [];

/** Lines over time. */
export function TimeSeries(props: TimeSeriesProps) {
  const { times, series, interval, zone, onOpen, format = formatNumber } = props;
  const { thresholds = NO_THRESHOLDS, marks = NO_MARKS } = props;
  const height = props.height ?? HEIGHT;
  const open = (index: number, place: number) => {
    const [time, one] = [times[index], series[place]];
    if (onOpen && time && one)
      onOpen({ index, time, series: one, value: one.values[index] ?? null });
  };
  const cursor = useCursor({
    times: times.length,
    series: series.length,
    onOpen: onOpen && open,
  });
  const whenOf = (index: number) => nameOf(props, index);
  const when = notedName(props, cursor.index);
  const values = activeFirst(series, cursor.series).map((one) => {
    const value = one.values[cursor.index] ?? null;
    return words.valueOf(one.name, value === null ? words.none : format(value));
  });

  return (
    <Figure
      caption={props.caption}
      {...(props.fileName !== undefined && { fileName: props.fileName })}
      {...(props.actions !== undefined && { actions: props.actions })}
      {...(props.note !== undefined && { note: props.note })}
      {...(props.data === undefined
        ? {
            onOpenNumber: onOpen && ((index, column) => open(index, column - 1)),
            data: {
              columns: [words.time, ...series.map((one) => one.name)],
              rows: times.map((_, index) => [
                whenOf(index),
                ...series.map((one) => one.values[index] ?? null),
              ]),
            },
          }
        : {
            data: props.data,
            onOpenNumber: props.onOpenNumber,
            canOpenColumn: props.canOpenColumn,
          })}
    >
      {times.length === 0 || series.length === 0 ? (
        <NoData height={height} />
      ) : (
        <>
          {/* A slider is what screen readers know that arrows move along, with a text for each place. */}
          <div
            role="slider"
            tabIndex={0}
            aria-label={props.caption}
            aria-valuemin={0}
            aria-valuemax={times.length - 1}
            aria-valuenow={cursor.index}
            aria-valuetext={words.point(when, values.join(", "))}
            aria-roledescription={words.chart}
            title={onOpen ? words.keysWithOpen : words.keys}
            className="min-w-0 rounded"
            style={{ height }}
            onKeyDown={cursor.onKeyDown}
          >
            <LazyPlot
              times={times}
              series={series}
              interval={interval}
              zone={zone}
              isPartial={props.isPartial ?? false}
              thresholds={thresholds}
              marks={marks}
              isStacked={props.isStacked ?? false}
              height={height}
              cursor={cursor.isSet ? cursor.index : null}
              onCursor={(index) =>
                cursor.setPosition(index === null ? null : { index, series: cursor.series })
              }
              onOpen={onOpen && open}
            />
          </div>
          <Legend
            series={series}
            index={cursor.index}
            when={when}
            format={format}
            active={onOpen && cursor.isSet ? cursor.series : null}
            kind="line"
          />
          {thresholds.map(({ name, value }) => (
            <p key={`${value} ${name}`} className="text-sm text-ink-3">
              <bdi>{words.threshold(name, format(value))}</bdi>
            </p>
          ))}
        </>
      )}
    </Figure>
  );
}

/** The series that enter opens is said first. */
export function activeFirst(series: readonly Series[], place: number): Series[] {
  const active = series[place];
  return active === undefined ? [...series] : [active, ...series.filter((one) => one !== active)];
}

export function nameOf(
  props: Pick<TimeSeriesProps, "times" | "interval" | "zone" | "isPartial">,
  index: number,
): string {
  const time = props.times[index];
  if (time === undefined) return "";
  const name = intervalName(time, props.interval, props.zone);
  const isLast = index === props.times.length - 1;
  return props.isPartial && isLast ? words.soFar(name) : name;
}

/** The name of an interval, with the notes about it. */
export function notedName(
  props: Pick<TimeSeriesProps, "times" | "interval" | "zone" | "isPartial" | "marks">,
  index: number,
): string {
  const { times, marks = NO_MARKS } = props;
  const noted = marks.filter(({ at }) => indexOfMoment(times, at) === index);
  return [nameOf(props, index), ...noted.map(({ text }) => text)].join(" · ");
}
