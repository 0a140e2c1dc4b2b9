import type { SeriesColor } from "@/charts";
import { words } from "@/words/experimentResults";
import type { Axis, Bounds } from "./intervals";

const WIDTH = 320;
const EDGE = 12;

const xOf = (value: number, { least, most }: Axis): number =>
  EDGE + ((value - least) / (most - least)) * (WIDTH - 2 * EDGE);

const within = (value: number, { least, most }: Axis): number =>
  Math.min(most, Math.max(least, value));

interface Props {
  label: string;
  bounds: Bounds;
  axis: Axis;
  color: SeriesColor;
}

/** One interval, with its estimate and the line of no change. */
export function IntervalChart({ label, bounds, axis, color }: Props) {
  const [low, high] = [within(bounds.low, axis), within(bounds.high, axis)];
  const [from, to, y] = [xOf(low, axis), xOf(high, axis), 12];
  const stroke = `var(--series-${color})`;
  return (
    <svg role="img" aria-label={label} viewBox={`0 0 ${WIDTH} 24`} className="block h-6 w-full">
      <line x1={xOf(0, axis)} x2={xOf(0, axis)} y1={0} y2={24} className="stroke-line-strong" />
      <line x1={from} x2={to} y1={y} y2={y} stroke={stroke} strokeWidth={4} strokeLinecap="butt" />
      <End x={from} isCut={low > bounds.low} side={-1} stroke={stroke} />
      <End x={to} isCut={high < bounds.high} side={1} stroke={stroke} />
      <circle
        cx={xOf(within(bounds.estimate, axis), axis)}
        cy={y}
        r={5}
        fill={stroke}
        stroke="var(--panel)"
        strokeWidth={1.5}
      />
    </svg>
  );
}

/** The end of an interval, or an arrow where it goes on beyond the axis. */
function End({
  x,
  isCut,
  side,
  stroke,
}: {
  x: number;
  isCut: boolean;
  side: 1 | -1;
  stroke: string;
}) {
  if (isCut) return <path d={`M${x} 5 l${side * 8} 7 l${-side * 8} 7 z`} fill={stroke} />;
  return <line x1={x} x2={x} y1={6} y2={18} stroke={stroke} strokeWidth={2} />;
}

/** The axis that all intervals below it share. */
export function IntervalAxis({ axis }: { axis: Axis }) {
  return (
    <svg aria-hidden="true" viewBox={`0 0 ${WIDTH} 18`} className="block w-full text-[11px]">
      {axis.ticks.map((tick) => (
        <text key={tick} x={xOf(tick, axis)} y={13} textAnchor="middle" className="fill-ink-3">
          {words.change(tick)}
        </text>
      ))}
    </svg>
  );
}
