import { useRef } from "react";
import { words } from "@/words/charts";
import { formatNumber } from "@/words/format";
import { Figure, type FigureProps } from "./Figure";
import { ticks } from "./scale";
import { shortNumber } from "./time";
import { useCursor } from "./useCursor";
import { useWidth } from "./useWidth";

export interface HistogramBin {
  /** Lower bound. */
  from: number;
  /** Full description of what is counted. */
  name: string;
  /** The lower bound as shown below the axis. */
  label: string;
  value: number;
}

export interface HistogramProps
  extends Pick<FigureProps, "caption" | "data" | "fileName" | "actions" | "note"> {
  bins: readonly HistogramBin[];
  height?: number;
}

const HEIGHT = 240;
const EDGE = { left: 40, right: 8, top: 18, bottom: 22 };
const LABEL_WIDTH = 72;

/** A histogram: one bar per range, next to each other. */
export function Histogram({ bins, height = HEIGHT, ...figure }: HistogramProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const cursor = useCursor({ times: bins.length, series: 1, onOpen: undefined });
  const chosen = cursor.isSet ? bins[cursor.index] : undefined;
  const text = (bin: HistogramBin | undefined) =>
    bin === undefined ? "" : words.point(bin.name, formatNumber(bin.value));
  return (
    <Figure {...figure}>
      <div
        ref={box}
        role="slider"
        tabIndex={0}
        aria-label={figure.caption}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, bins.length - 1)}
        aria-valuenow={cursor.index}
        aria-valuetext={text(bins[cursor.index])}
        aria-roledescription={words.chart}
        title={words.keys}
        className="min-w-0 rounded"
        style={{ height }}
        onKeyDown={cursor.onKeyDown}
        onMouseLeave={() => cursor.setPosition(null)}
      >
        {width > 0 && (
          <Drawn
            bins={bins}
            width={width}
            height={height}
            chosen={cursor.isSet ? cursor.index : null}
            onPoint={(index) => cursor.setPosition({ index, series: 0 })}
          />
        )}
      </div>
      <p className="mt-1 min-h-5 text-ink-2 text-sm">{text(chosen)}</p>
    </Figure>
  );
}

interface DrawnProps {
  bins: readonly HistogramBin[];
  width: number;
  height: number;
  chosen: number | null;
  onPoint: (index: number) => void;
}

function Drawn({ bins, width, height, chosen, onPoint }: DrawnProps) {
  const marks = ticks(Math.max(...bins.map(({ value }) => value)));
  const most = marks.at(-1) ?? 1;
  const inner = {
    width: width - EDGE.left - EDGE.right,
    height: height - EDGE.top - EDGE.bottom,
  };
  const step = inner.width / Math.max(bins.length, 1);
  const every = Math.ceil(LABEL_WIDTH / step);
  const bottom = EDGE.top + inner.height;
  const topOf = (value: number) => bottom - (value / most) * inner.height;
  return (
    <svg width={width} height={height} aria-hidden="true" className="block text-[11px]">
      {marks.map((mark) => (
        <g key={mark} transform={`translate(${EDGE.left} ${topOf(mark)})`}>
          <line x2={inner.width} className="stroke-line" />
          <text x={-6} dy="0.32em" textAnchor="end" className="fill-ink-3">
            {shortNumber(mark)}
          </text>
        </g>
      ))}
      {bins.map((bin, index) => {
        const x = EDGE.left + index * step;
        // Keep every value above 0 visible, however small.
        const top = bin.value > 0 ? Math.min(topOf(bin.value), bottom - 1) : bottom;
        return (
          <g key={bin.from} opacity={chosen === null || chosen === index ? 1 : 0.55}>
            <rect
              x={x + 1}
              y={top}
              width={Math.max(1, step - 2)}
              height={bottom - top}
              rx={Math.min(2, step / 4)}
              fill="var(--series-2)"
            />
            {bin.value > 0 && step > 34 && (
              <text x={x + step / 2} y={top - 5} textAnchor="middle" className="fill-ink-2">
                {shortNumber(bin.value)}
              </text>
            )}
            {index % every === 0 && (
              <text x={x + 2} y={height - 6} className="fill-ink-3">
                {bin.label}
              </text>
            )}
            {/* biome-ignore lint/a11y/noStaticElementInteractions: the slider around it has the keys. */}
            <rect
              x={x}
              y={EDGE.top}
              width={step}
              height={inner.height}
              fill="transparent"
              onMouseEnter={() => onPoint(index)}
            />
          </g>
        );
      })}
    </svg>
  );
}
