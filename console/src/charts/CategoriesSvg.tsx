import type { MouseEvent } from "react";
import { fillOf, Patterns } from "./BarsSvg";
import { ticksBetween } from "./scale";
import { markOf, type Series } from "./series";

export interface Category {
  /** The full name, also used by screen readers. */
  name: string;
  /** The short name on the axis. */
  short: string;
  /** Notes about it, which a dashed line tells of. */
  notes?: readonly string[];
}

export type Form = "lines" | "stacked" | "grouped";

interface Props {
  /** Unique on the page, because it names the SVG patterns. */
  id: string;
  categories: readonly Category[];
  series: readonly Series[];
  form: Form;
  isPartial: boolean;
  format: (value: number) => string;
  width: number;
  height: number;
  cursor: number | null;
  onCursor: (index: number, series: number) => void;
  onOpen: (index: number, series: number) => void;
}

const EDGE = { left: 52, right: 8, top: 8, bottom: 22 };
const LABEL_WIDTH = 64;
const BAR_MAX = 64;

interface Frame {
  left: number;
  /** The width of a category. */
  step: number;
  yOf: (value: number) => number;
}

/** The drawing. The slider around it and the table make it accessible. */
export function CategoriesSvg(props: Props) {
  const { categories, series, width, height, cursor, form } = props;
  const [least, most] = form === "stacked" ? stackedRange(props) : ownRange(series);
  const marks = ticksBetween(least, most);
  const [low = 0, high = 1] = [marks[0], marks.at(-1)];
  const inner = { width: width - EDGE.left - EDGE.right, height: height - EDGE.top - EDGE.bottom };
  const step = inner.width / Math.max(1, categories.length);
  const yOf = (value: number) => EDGE.top + ((high - value) / (high - low || 1)) * inner.height;
  const frame: Frame = { left: EDGE.left, step, yOf };
  const every = Math.ceil((categories.length * LABEL_WIDTH) / Math.max(inner.width, LABEL_WIDTH));
  const centre = (index: number) => EDGE.left + (index + 0.5) * step;
  const nearest = (event: MouseEvent<SVGRectElement>, index: number) => {
    const box = event.currentTarget.ownerSVGElement?.getBoundingClientRect();
    return nearestOf(series, index, yOf, event.clientY - (box?.top ?? 0));
  };
  return (
    <svg width={width} height={height} aria-hidden="true" className="block text-[11px]">
      <Patterns id={props.id} series={series} />
      {marks.map((mark) => (
        <g key={mark} transform={`translate(${EDGE.left} ${yOf(mark)})`}>
          <line x2={inner.width} className={mark === 0 ? "stroke-line-strong" : "stroke-line"} />
          <text x={-6} dy="0.32em" textAnchor="end" className="fill-ink-3">
            {props.format(mark)}
          </text>
        </g>
      ))}
      {form === "lines" && cursor !== null && (
        <line
          x1={centre(cursor)}
          x2={centre(cursor)}
          y1={EDGE.top}
          y2={EDGE.top + inner.height}
          className="stroke-line-strong"
        />
      )}
      {form === "lines" ? (
        <Lines {...props} frame={frame} />
      ) : (
        categories.map((category, index) => (
          <g key={category.name} opacity={cursor === null || cursor === index ? 1 : 0.55}>
            <Column {...props} frame={frame} index={index} />
          </g>
        ))
      )}
      {categories.map((category, index) => (
        <g key={category.name}>
          {category.notes !== undefined && category.notes.length > 0 && (
            <line
              x1={EDGE.left + index * step + 0.5}
              x2={EDGE.left + index * step + 0.5}
              y1={EDGE.top}
              y2={EDGE.top + inner.height}
              strokeDasharray="2 3"
              className="stroke-ink-3"
            />
          )}
          {form === "lines" && (
            // biome-ignore lint/a11y/noStaticElementInteractions: the slider around it has the keys.
            <rect
              x={EDGE.left + index * step}
              y={EDGE.top}
              width={step}
              height={inner.height}
              fill="transparent"
              onMouseMove={(event) => props.onCursor(index, nearest(event, index))}
              onClick={(event) => props.onOpen(index, nearest(event, index))}
            />
          )}
          {index % every === 0 && (
            <text x={centre(index)} y={height - 6} textAnchor="middle" className="fill-ink-3">
              {category.short}
            </text>
          )}
        </g>
      ))}
    </svg>
  );
}

const ownRange = (series: readonly Series[]): [number, number] => {
  const values = series.flatMap((one) => one.values.map((value) => value ?? 0));
  return [Math.min(0, ...values), Math.max(0, ...values)];
};

function stackedRange({ categories, series }: Props): [number, number] {
  const sums = categories.map((_, index) => {
    const values = series.map((one) => one.values[index] ?? 0);
    const sum = (sign: number) =>
      values.reduce((total, one) => total + (one * sign > 0 ? one : 0), 0);
    return [sum(-1), sum(1)] as const;
  });
  return [Math.min(0, ...sums.map(([low]) => low)), Math.max(0, ...sums.map(([, high]) => high))];
}

function nearestOf(
  series: readonly Series[],
  index: number,
  yOf: (value: number) => number,
  y: number,
): number {
  const far = series.map(({ values }) =>
    Math.abs(yOf(values[index] ?? Number.POSITIVE_INFINITY) - y),
  );
  return Math.max(0, far.indexOf(Math.min(...far)));
}

type Framed = Props & { frame: Frame };

function Lines({ series, categories, isPartial, frame }: Framed) {
  const { left, step, yOf } = frame;
  const last = categories.length - 1;
  const pathOf = (values: Series["values"], from: number, to: number) => {
    let isDown = false;
    const steps: string[] = [];
    for (let index = from; index <= to; index += 1) {
      const value = values[index] ?? null;
      if (value !== null)
        steps.push(`${isDown ? "L" : "M"}${left + (index + 0.5) * step} ${yOf(value)}`);
      isDown = value !== null;
    }
    return steps.join("");
  };
  return series.map((one, place) => {
    const { token, dash } = markOf(one, place);
    const line = { fill: "none", stroke: `var(${token})`, strokeWidth: 2 };
    return (
      <g key={one.key ?? one.name}>
        <path
          {...line}
          d={pathOf(one.values, 0, isPartial ? last - 1 : last)}
          strokeDasharray={dash.join(" ")}
        />
        {isPartial && (
          <path {...line} d={pathOf(one.values, last - 1, last)} strokeDasharray="4 4" />
        )}
        {one.values.map((value, index) =>
          value === null ? null : (
            <circle
              key={categories[index]?.name}
              cx={left + (index + 0.5) * step}
              cy={yOf(value)}
              r={series.length > MANY ? 0 : 3}
              fill={`var(${token})`}
            />
          ),
        )}
      </g>
    );
  });
}

// Beyond this many lines, points only clutter the chart.
const MANY = 6;

interface Bar {
  x: number;
  width: number;
  from: number;
  to: number;
}

function Column(props: Framed & { index: number }) {
  const { series, categories, index, frame } = props;
  const bars = props.form === "stacked" ? stackedBars(props) : groupedBars(props);
  const isOpenEnd = props.isPartial && index === categories.length - 1;
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the slider around it has the keys. */}
      <rect
        x={frame.left + index * frame.step}
        y={EDGE.top}
        width={frame.step}
        height={props.height - EDGE.top - EDGE.bottom}
        fill="transparent"
        onMouseEnter={() => props.onCursor(index, 0)}
      />
      {bars.map((bar, place) => {
        const one = series[place];
        if (one === undefined || bar.from === bar.to) return null;
        const [top, bottom] = [
          frame.yOf(Math.max(bar.from, bar.to)),
          frame.yOf(Math.min(bar.from, bar.to)),
        ];
        return (
          // biome-ignore lint/a11y/noStaticElementInteractions: the slider around it has the keys.
          <rect
            key={one.key ?? one.name}
            x={bar.x}
            y={top}
            width={bar.width}
            height={Math.max(1, bottom - top)}
            fill={fillOf(props.id, series, place)}
            opacity={isOpenEnd ? 0.6 : 1}
            {...(isOpenEnd && { strokeDasharray: "3 3", className: "stroke-ink-2" })}
            onMouseEnter={() => props.onCursor(index, place)}
            onClick={() => props.onOpen(index, place)}
          />
        );
      })}
    </>
  );
}

const barWidth = (room: number): number =>
  Math.min(BAR_MAX, Math.max(1, room - Math.min(4, room * 0.2)));

/** Positive values stack upwards from zero, negative ones downwards. */
function stackedBars({ series, index, frame }: Framed & { index: number }): Bar[] {
  const width = barWidth(frame.step);
  const x = frame.left + index * frame.step + (frame.step - width) / 2;
  const ends = { above: 0, below: 0 };
  return series.map(({ values }) => {
    const value = values[index] ?? 0;
    const side = value < 0 ? "below" : "above";
    const from = ends[side];
    ends[side] += value;
    return { x, width, from, to: ends[side] };
  });
}

function groupedBars({ series, index, frame }: Framed & { index: number }): Bar[] {
  const room = Math.min(frame.step * 0.9, BAR_MAX * series.length);
  const own = room / Math.max(1, series.length);
  const start = frame.left + index * frame.step + (frame.step - room) / 2;
  return series.map(({ values }, place) => ({
    x: start + place * own,
    width: Math.max(1, own - Math.min(2, own * 0.1)),
    from: 0,
    to: values[index] ?? 0,
  }));
}
