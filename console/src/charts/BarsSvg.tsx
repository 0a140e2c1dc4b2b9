import { labelled, ticks } from "./scale";
import { isHatched, type MomentMark, markOf, type Series } from "./series";
import { axisName, type Interval, indexOfMoment, shortNumber } from "./time";

interface Props {
  /** Unique on the page: patterns are named by it. */
  id: string;
  times: readonly Date[];
  series: readonly Series[];
  interval: Interval;
  zone: string | undefined;
  isPartial: boolean;
  /** Side by side instead of stacked. */
  isGrouped: boolean;
  marks: readonly MomentMark[];
  width: number;
  height: number;
  cursor: number | null;
  onCursor: (index: number, series: number) => void;
  onOpen: (index: number, series: number) => void;
}

const EDGE = { left: 44, right: 4, top: 6, bottom: 20 };

/** The drawing; what it says stands in the slider around it, and in the table. */
export function BarsSvg(props: Props) {
  const { times, series, width, height, cursor } = props;
  const inner = { width: width - EDGE.left - EDGE.right, height: height - EDGE.top - EDGE.bottom };
  const { columns, columnOf } = columnsOf(series, props.isGrouped);
  const totals = times.map((_, index) => {
    const sums = Array.from({ length: columns }, () => 0);
    series.forEach((one, place) => {
      sums[columnOf(place)] = (sums[columnOf(place)] ?? 0) + (one.values[index] ?? 0);
    });
    return Math.max(0, ...sums);
  });
  const levels = ticks(Math.max(...totals));
  const most = levels.at(-1) ?? 1;
  const step = inner.width / Math.max(1, times.length);
  const barWidth = Math.max(1, step - Math.min(3, step * 0.2));
  const heightOf = (value: number) => (value / most) * inner.height;
  const noted = new Set(props.marks.map(({ at }) => indexOfMoment(times, at)));
  const labels = new Set(labelled(times, props.interval, props.zone, inner.width));

  return (
    <svg width={width} height={height} aria-hidden="true" className="block text-[11px]">
      <Patterns id={props.id} series={series} />
      {levels.map((level) => (
        <g
          key={level}
          transform={`translate(${EDGE.left} ${EDGE.top + inner.height - heightOf(level)})`}
        >
          <line x2={inner.width} className="stroke-line" />
          <text x={-6} dy="0.32em" textAnchor="end" className="fill-ink-3">
            {shortNumber(level)}
          </text>
        </g>
      ))}
      {times.map((time, index) => {
        const x = EDGE.left + index * step + (step - barWidth) / 2;
        const floor = EDGE.top + inner.height;
        const tops = Array.from({ length: columns }, () => floor);
        const isOpenEnd = props.isPartial && index === times.length - 1;
        return (
          <g key={time.getTime()} opacity={cursor === null || cursor === index ? 1 : 0.55}>
            {series.map((one, place) => {
              const value = one.values[index] ?? 0;
              if (value <= 0) return null;
              // Every value above 0 is visible, however small.
              const size = Math.max(1, heightOf(value));
              const column = columnOf(place);
              const y = (tops[column] ?? floor) - size;
              tops[column] = y;
              return (
                // biome-ignore lint/a11y/noStaticElementInteractions: the slider around it has the keys.
                <rect
                  key={one.key ?? one.name}
                  x={x + (column * barWidth) / columns}
                  y={y}
                  width={barWidth / columns}
                  height={size}
                  fill={fillOf(props.id, series, place)}
                  opacity={isOpenEnd ? 0.6 : 1}
                  onMouseEnter={() => props.onCursor(index, place)}
                  onClick={() => props.onOpen(index, place)}
                />
              );
            })}
            {noted.has(index) && (
              <line
                x1={EDGE.left + index * step + 0.5}
                x2={EDGE.left + index * step + 0.5}
                y1={EDGE.top}
                y2={floor}
                strokeDasharray="2 3"
                className="stroke-ink-3"
              />
            )}
            {isOpenEnd && (
              <rect
                x={x - 0.5}
                y={Math.min(...tops) - 0.5}
                width={barWidth + 1}
                height={floor - Math.min(...tops) + 0.5}
                fill="none"
                strokeDasharray="3 3"
                className="stroke-ink-2"
              />
            )}
            {/* biome-ignore lint/a11y/noStaticElementInteractions: the slider around it has the keys. */}
            <rect
              x={EDGE.left + index * step}
              y={EDGE.top}
              width={step}
              height={Math.max(0, Math.min(...tops) - EDGE.top)}
              fill="transparent"
              onMouseEnter={() => props.onCursor(index, 0)}
            />
          </g>
        );
      })}
      {times.map((time, index) =>
        labels.has(index) ? (
          <text
            key={time.getTime()}
            x={EDGE.left + index * step + step / 2}
            y={height - 6}
            textAnchor="middle"
            className="fill-ink-3"
          >
            {axisName(time, props.interval, props.zone)}
          </text>
        ) : null,
      )}
    </svg>
  );
}

/** Return the number of bars side by side and which one a series belongs to: with a comparison, the
 * previous period comes first; otherwise each series has its own. */
function columnsOf(series: readonly Series[], isGrouped: boolean) {
  if (isGrouped) return { columns: Math.max(1, series.length), columnOf: (place: number) => place };
  const isCompared = series.some(({ isPrevious }) => isPrevious);
  return {
    columns: isCompared ? 2 : 1,
    columnOf: (place: number) => (isCompared && !series[place]?.isPrevious ? 1 : 0),
  };
}

export function fillOf(id: string, series: readonly Series[], place: number): string {
  const one = series[place];
  if (one === undefined) return "none";
  return isHatched(place) ? `url(#${id}-${place})` : `var(${markOf(one, place).token})`;
}

export function Patterns({ id, series }: { id: string; series: readonly Series[] }) {
  return (
    <defs>
      {series.map((one, place) => {
        const color = `var(${markOf(one, place).token})`;
        return isHatched(place) ? (
          <pattern
            key={one.key ?? one.name}
            id={`${id}-${place}`}
            width="5"
            height="5"
            patternUnits="userSpaceOnUse"
            patternTransform="rotate(45)"
          >
            <rect width="5" height="5" fill={color} fillOpacity="0.35" />
            <rect width="2" height="5" fill={color} />
          </pattern>
        ) : null;
      })}
    </defs>
  );
}
