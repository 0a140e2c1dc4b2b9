import { useMemo } from "react";
import { ChartAnnotations, useAnnotations, useMarks } from "@/annotations";
import {
  Bars,
  BigNumber,
  captionOf,
  inReach,
  NumbersTable,
  Pie,
  type Point,
  rangeName,
  type SeriesColor,
  type Threshold,
  TimeSeries,
  type TimeSeriesProps,
  TotalBars,
  type TotalsProps,
  WorldMap,
} from "@/charts";
import { lazyPart } from "@/ui/lazyPart";
import { nameOfRange } from "@/ui/ranges";
import { words } from "@/words/insightsTrends";
import type { Asked, ResultProps } from "../kind";
import { canOpen, placeOf } from "./behind";
import { colorOf, colorsOf, seriesOfLines } from "./drawn";
import { beginOf, daysOf, isPartial, type Line, linesOf } from "./lines";
import { type Display, isOfTotals, isOfWeek, optionsOf } from "./options";
import { nameOfLine, trendsTable } from "./table";
import type { WeekResultProps } from "./WeekResult";

const WeekResult = lazyPart<WeekResultProps>(
  "hours of a week",
  async () => (await import("./WeekResult")).WeekResult,
);

/** The chart of a trend, with its numbers in a table below. */
export function TrendsResult(props: ResultProps) {
  if (isOfWeek(optionsOf(props.question).display)) {
    const period = periodOf(props);
    return <WeekResult {...props} caption={(what) => words.whole(what, period)} />;
  }
  return <LinesResult {...props} />;
}

function LinesResult(props: ResultProps) {
  const { question, answer, isTile = false, onOpen } = props;
  const { display, formulas } = optionsOf(question);
  const lines = useMemo(() => linesOf({ question, answer }), [question, answer]);
  const colors = useMemo(() => colorsOf(lines), [lines]);
  const open = (line: Line | undefined, index?: number) => {
    if (line !== undefined && canOpen(line))
      onOpen?.(placeOf(line, index === undefined ? undefined : line.days[index]));
  };
  const opens = onOpen !== undefined && lines.some(canOpen);
  const shared = { ...props, lines, colors, opens, open };
  const isWhole = isOfTotals(display);
  return (
    <div className="flex min-w-0 flex-col gap-4">
      {isWhole ? (
        <WholeChart {...shared} display={display} />
      ) : (
        <TimeChart {...shared} display={display} />
      )}
      {!isTile && display !== "ActionsTable" && (
        <NumbersTable
          caption={words.numbers}
          data={trendsTable(props)}
          onOpen={
            opens
              ? (row, column) => (isWhole ? open(lines[row]) : open(lines[column - 1], row))
              : undefined
          }
        />
      )}
      {formulas.length > 0 && <p className="text-ink-3 text-sm">{words.formulaHint}</p>}
    </div>
  );
}

interface ChartProps extends ResultProps {
  display: Display;
  lines: readonly Line[];
  colors: ReadonlyMap<string, SeriesColor>;
  opens: boolean;
  open: (line: Line | undefined, index?: number) => void;
}

const HEIGHT = 300;
// What a chart has below it and a number does not.
const LEGEND_PX = 70;

function TimeChart({ lines, colors, ...props }: ChartProps) {
  const { question, answer, display, height = HEIGHT } = props;
  const { zone } = answer;
  const { interval } = question;
  const times = useMemo(() => daysOf(lines).map((day) => beginOf(day, zone)), [lines, zone]);
  const series = useMemo(() => seriesOfLines(lines, colors), [lines, colors]);
  const thresholds = useMemo(() => inReach(props.thresholds, series), [props.thresholds, series]);
  const annotations = useAnnotations(times);
  const marks = useMarks(annotations);
  const partial = isPartial(lines);
  const chart = {
    caption: captionOf(whatOf(lines), times, interval, { zone, isPartial: partial }),
    times,
    series,
    interval,
    zone,
    isPartial: partial,
    fileName: "trend",
    height,
    ...(props.opens && {
      onOpen: ({ index, series: one }: Point) =>
        props.open(
          lines.find(({ key }) => key === one.key),
          index,
        ),
    }),
  };
  return (
    <>
      <Drawn display={display} chart={{ ...chart, marks }} thresholds={thresholds} />
      {!props.isTile && (
        <ChartAnnotations annotations={annotations} at={times.at(-1) ?? new Date()} zone={zone} />
      )}
    </>
  );
}

interface DrawnProps {
  display: Display;
  chart: TimeSeriesProps;
  thresholds: readonly Threshold[];
}

function Drawn({ display, chart, thresholds }: DrawnProps) {
  if (display === "ActionsBar") return <Bars {...chart} />;
  if (display === "ActionsUnstackedBar") return <Bars {...chart} isGrouped />;
  const isStacked = display === "ActionsAreaGraph";
  return <TimeSeries {...chart} isStacked={isStacked} {...(!isStacked && { thresholds })} />;
}

function WholeChart({ lines, colors, display, ...props }: ChartProps) {
  const chart: TotalsProps = {
    caption: words.whole(whatOf(lines), periodOf(props)),
    totals: lines.map((line, place) => ({
      key: line.key,
      name: nameOfLine(line),
      value: line.total ?? 0,
      isPrevious: line.isPrevious,
      color: colors.get(line.name) ?? colorOf(place),
    })),
    fileName: "trend",
    onOpen: props.opens ? (place) => props.open(lines[place]) : undefined,
  };
  if (display === "BoldNumber")
    return (
      <BigNumber {...chart} height={props.isTile ? (props.height ?? 0) + LEGEND_PX : undefined} />
    );
  if (display === "ActionsPie") return <Pie {...chart} />;
  if (display === "WorldMap") return <WorldMap {...chart} />;
  if (display === "ActionsTable")
    return (
      <NumbersTable
        caption={chart.caption}
        data={trendsTable(props)}
        onOpen={props.opens ? (row) => props.open(lines[row]) : undefined}
      />
    );
  return <TotalBars {...chart} />;
}

function periodOf({ question, answer }: Asked): string {
  const { from, to } = question.dates;
  const isFixed = from?.startsWith("20") && to?.startsWith("20");
  if (!isFixed) return nameOfRange(question.dates);
  return rangeName(
    beginOf(from ?? "", answer.zone),
    beginOf(to ?? "", answer.zone),
    "day",
    answer.zone,
  );
}

// Names in a caption.
const NAMED = 3;

function whatOf(lines: readonly Line[]): string {
  const names = [...new Set(lines.map(({ name }) => name))];
  const named = names.slice(0, NAMED).join(", ");
  return names.length > NAMED ? words.andMore(named, names.length - NAMED) : named;
}
