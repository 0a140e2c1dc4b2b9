import { words } from "@/words/charts";
import { shortNumber } from "./time";

export interface SparklineProps {
  /** The name of the values, such as "calls per day". */
  label: string;
  values: readonly number[];
  width?: number;
  height?: number;
  /** Whether the last interval is not over: its part of the line is dashed. */
  isPartial?: boolean;
}

/** A line without axes, as wide as a word. */
export function Sparkline({ label, values, width = 72, height = 20, isPartial }: SparklineProps) {
  const most = Math.max(1, ...values);
  const step = values.length > 1 ? (width - 3) / (values.length - 1) : 0;
  const points = values.map((value, index): [number, number] => [
    1.5 + index * step,
    height - 2 - (Math.max(0, value) / most) * (height - 4),
  ]);
  const last = points.at(-1);
  return (
    <svg
      role="img"
      aria-label={words.point(label, textOf(values))}
      width={width}
      height={height}
      className="inline-block shrink-0 align-middle"
    >
      <polyline {...LINE} points={pathOf(isPartial ? points.slice(0, -1) : points)} />
      {isPartial && <polyline {...LINE} points={pathOf(points.slice(-2))} strokeDasharray="2 2" />}
      {last && <circle cx={last[0]} cy={last[1]} r="1.8" className="fill-accent-text" />}
    </svg>
  );
}

const LINE = {
  fill: "none",
  strokeWidth: 1.5,
  strokeLinejoin: "round",
  className: "stroke-ink-3",
} as const;

const pathOf = (points: readonly [number, number][]): string =>
  points.map((point) => point.map((part) => part.toFixed(1)).join(",")).join(" ");

function textOf(values: readonly number[]): string {
  const [first, last] = [values[0], values.at(-1)];
  if (first === undefined || last === undefined) return words.noData;
  return words.spark(
    values.length,
    shortNumber(first),
    shortNumber(last),
    shortNumber(Math.max(...values)),
  );
}
