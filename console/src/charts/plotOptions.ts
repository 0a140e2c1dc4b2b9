import type uPlot from "uplot";
import { labelled } from "./scale";
import { type MomentMark, markOf, type Series, type Threshold } from "./series";
import { axisName, type Interval, indexOfMoment, shortNumber } from "./time";

export interface PlotData {
  times: readonly Date[];
  series: readonly Series[];
  interval: Interval;
  zone: string | undefined;
  isPartial: boolean;
  thresholds: readonly Threshold[];
  marks: readonly MomentMark[];
  /** Each line adds its values to those of the lines before it, with the area between filled. */
  isStacked: boolean;
  height: number;
}

const PARTIAL_DASH = [4, 4];
const THRESHOLD_DASH = [8, 4];
const LINE_WIDTH = 2;
const POINT_SIZE = 6;
const AXIS_WIDTH = 52;
const LABELS_HEIGHT = 28;

/** Each series twice where the last interval is not over: up to the last point but one, and from
 * there dashed. */
export function plotValues(data: PlotData): uPlot.AlignedData {
  const { times, isPartial, thresholds } = data;
  const series = data.isStacked ? sums(data.series) : data.series;
  const seconds = times.map((time) => time.getTime() / 1000);
  const last = times.length - 1;
  const lines = series.map((one) => times.map((_, index) => one.values[index] ?? null));
  if (!isPartial) return [seconds, ...lines, ...levels(thresholds, times.length)];
  const whole = lines.map((line) => line.map((value, index) => (index === last ? null : value)));
  const open = lines.map((line) => line.map((value, index) => (index < last - 1 ? null : value)));
  return [seconds, ...whole, ...open, ...levels(thresholds, times.length)];
}

/** Return running sums over the series, so they stack; the current and the previous period stack
 * separately. */
export function sums(series: readonly Series[]): Series[] {
  return series.map((one, place) => ({
    ...one,
    values: one.values.map((_, index) =>
      series
        .slice(0, place + 1)
        .filter(({ isPrevious = false }) => isPrevious === (one.isPrevious ?? false))
        .reduce((sum, { values }) => sum + (values[index] ?? 0), 0),
    ),
  }));
}

function levels(thresholds: readonly Threshold[], count: number): number[][] {
  return thresholds.map(({ value }) => Array.from({ length: count }, () => value));
}

export function plotOptions(
  data: PlotData,
  style: CSSStyleDeclaration,
  { width, onMove }: { width: number; onMove: (index: number | null) => void },
): uPlot.Options {
  const color = (token: string) => style.getPropertyValue(token).trim();
  const font = `12px ${style.fontFamily}`;
  const lines = data.series.map((one, place): uPlot.Series => {
    const { token, dash } = markOf(one, place);
    return {
      stroke: color(token),
      width: LINE_WIDTH,
      dash: [...dash],
      points: { show: true, size: POINT_SIZE, filter: alone },
    };
  });
  const dashed = data.isPartial
    ? lines.map((line): uPlot.Series => ({ ...line, dash: PARTIAL_DASH }))
    : [];
  const { bands, floor } = areasOf(data, (token) => color(token));
  const drawn = [...lines, ...dashed].map((line, index) =>
    floor.has(index + 1) ? { ...line, fill: floor.get(index + 1) ?? "" } : line,
  );
  const level = data.thresholds.map(
    (): uPlot.Series => ({
      stroke: color("--bad"),
      width: 1.5,
      dash: THRESHOLD_DASH,
      points: { show: false },
    }),
  );
  const axis: uPlot.Axis = {
    font,
    stroke: color("--ink-3"),
    grid: { stroke: color("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width,
    height: data.height,
    legend: { show: false },
    padding: [8, 22, 0, 0],
    cursor: {
      y: false,
      drag: { x: false, y: false },
      points: { size: 8 },
      move: (_, left, top) => [left, top],
    },
    scales: { x: { time: true }, y: { range: (_, low, high) => rangeOf(low, high) } },
    series: [{}, ...drawn, ...level],
    bands,
    axes: [
      {
        ...axis,
        size: LABELS_HEIGHT,
        grid: { show: false },
        splits: (plot) =>
          labelled(data.times, data.interval, data.zone, plot.width - AXIS_WIDTH).map(
            (index) => (data.times[index]?.getTime() ?? 0) / 1000,
          ),
        values: (_, splits) =>
          splits.map((at) => axisName(new Date(at * 1000), data.interval, data.zone)),
      },
      {
        ...axis,
        size: AXIS_WIDTH,
        ...(areWhole(data.series) && { incrs: WHOLE_STEPS }),
        values: (_, splits) => splits.map(shortNumber),
      },
    ],
    hooks: {
      setCursor: [(plot) => plot.cursor.event && onMove(plot.cursor.idx ?? null)],
      drawAxes: [(plot) => drawMarks(plot, placesOfMarks(data), color("--ink-3"))],
    },
  };
}

const MARK_DASH = [2, 3];

/** A dashed line at each interval that has marks. */
function drawMarks(plot: uPlot, seconds: readonly number[], color: string): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = color;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash(MARK_DASH.map((length) => length * devicePixelRatio));
  for (const second of seconds) {
    const x = Math.round(plot.valToPos(second, "x", true));
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

function placesOfMarks({ times, marks }: PlotData): number[] {
  const places = new Set(marks.map(({ at }) => indexOfMoment(times, at)));
  return [...places].flatMap((index) => {
    const time = times[index];
    return time === undefined ? [] : [time.getTime() / 1000];
  });
}

const AREA = 0.3;

/** Return the filled bands: from zero to the lowest line, and between neighbouring lines. The previous
 * period is drawn as lines only. */
function areasOf(
  { series, isStacked, isPartial }: PlotData,
  color: (token: string) => string,
): { bands: uPlot.Band[]; floor: ReadonlyMap<number, string> } {
  const bands: uPlot.Band[] = [];
  const floor = new Map<number, string>();
  const filled = series.flatMap((one, place) => (isStacked && !one.isPrevious ? [place] : []));
  for (const shift of isPartial ? [1, 1 + series.length] : [1]) {
    filled.forEach((place, at) => {
      const one = series[place];
      if (one === undefined) return;
      const fill = translucent(color(markOf(one, place).token), AREA);
      const below = filled[at - 1];
      if (below === undefined) floor.set(place + shift, fill);
      else bands.push({ series: [place + shift, below + shift], fill });
    });
  }
  return { bands, floor };
}

/** Colours are hexadecimal. */
const translucent = (hex: string, share: number): string =>
  `${hex}${Math.round(share * 255)
    .toString(16)
    .padStart(2, "0")}`;

// Steps between the ticks of counts: 1, 2, 5, 10 and so on.
const WHOLE_STEPS = Array.from({ length: 16 }, (_, power) =>
  [1, 2, 5].map((n) => n * 10 ** power),
).flat();

const areWhole = (series: readonly Series[]): boolean =>
  series.every(({ values }) => values.every((value) => value === null || Number.isInteger(value)));

/** Places of values without neighbours: no line shows them. */
function alone(plot: uPlot, place: number): number[] {
  const values = plot.data[place] ?? [];
  const isThere = (index: number) => values[index] !== null && values[index] !== undefined;
  return Array.from(values, (_, index) => index).filter(
    (index) => isThere(index) && !isThere(index - 1) && !isThere(index + 1),
  );
}

/** The range starts at zero and ends a little above the highest value. */
function rangeOf(low: number | null, high: number | null): [number, number] {
  const most = Math.max(high ?? 0, 0);
  const least = Math.min(low ?? 0, 0);
  return [least, most === least ? least + 1 : most + (most - least) * 0.06];
}
