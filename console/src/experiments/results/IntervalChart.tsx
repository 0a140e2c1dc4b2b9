import type { SeriesColor } from "@/charts";
import { words } from "@/words/experimentResults";
import { type Axis, type Bounds, placeOn } from "./intervals";

const HEIGHT = 24;
const MIDDLE = HEIGHT / 2;

const within = (value: number, { least, most }: Axis): number =>
  Math.min(most, Math.max(least, value));

interface Props {
  label: string;
  bounds: Bounds;
  axis: Axis;
  color: SeriesColor;
}

/** One interval, with its estimate and the line of no change. Places are percentages of the width,
 * so that they are those of the axis below, however wide both are. */
export function IntervalChart({ label, bounds, axis, color }: Props) {
  const [low, high] = [within(bounds.low, axis), within(bounds.high, axis)];
  const [from, to, zero] = [placeOn(axis, low), placeOn(axis, high), placeOn(axis, 0)];
  const stroke = `var(--series-${color})`;
  return (
    <svg role="img" aria-label={label} className="block h-6 w-full overflow-visible">
      <line x1={zero} x2={zero} y1={0} y2={HEIGHT} className="stroke-line-strong" />
      <line x1={from} x2={to} y1={MIDDLE} y2={MIDDLE} stroke={stroke} strokeWidth={4} />
      <End x={from} isCut={low > bounds.low} side={-1} stroke={stroke} />
      <End x={to} isCut={high < bounds.high} side={1} stroke={stroke} />
      <circle
        cx={placeOn(axis, within(bounds.estimate, axis))}
        cy={MIDDLE}
        r={5}
        fill={stroke}
        stroke="var(--panel)"
        strokeWidth={1.5}
      />
    </svg>
  );
}

interface EndProps {
  x: string;
  isCut: boolean;
  side: 1 | -1;
  stroke: string;
}

/** The end of an interval, or an arrow where it goes on beyond the axis. */
function End({ x, isCut, side, stroke }: EndProps) {
  if (!isCut) return <line x1={x} x2={x} y1={6} y2={18} stroke={stroke} strokeWidth={2} />;
  return (
    <svg aria-hidden="true" x={x} overflow="visible">
      <path d={`M0 5 l${side * 8} 7 l${-side * 8} 7 z`} fill={stroke} />
    </svg>
  );
}

/** The axis that all intervals below it share. */
export function IntervalAxis({ axis }: { axis: Axis }) {
  return (
    <svg aria-hidden="true" className="block h-4.5 w-full overflow-visible text-[11px]">
      {axis.ticks.map((tick) => (
        <text key={tick} x={placeOn(axis, tick)} y={13} textAnchor="middle" className="fill-ink-3">
          {words.change(tick)}
        </text>
      ))}
    </svg>
  );
}
