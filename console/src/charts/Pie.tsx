import { words } from "@/words/charts";
import { formatNumber, formatShare } from "@/words/format";
import { markOf } from "./series";
import { TotalRow, TotalsFigure, type TotalsProps } from "./Totals";

const RADIUS = 90;
const HOLE = 52;

/** Shares of a whole as a ring chart and a list. */
export function Pie(props: TotalsProps) {
  const { totals, onOpen, format = formatNumber } = props;
  const whole = totals.reduce((sum, { value }) => sum + Math.max(0, value), 0);
  const shareOf = (value: number) => (whole === 0 ? 0 : Math.max(0, value) / whole);
  let end = 0;
  const arcs = totals.map((one, place) => {
    const start = end;
    end += shareOf(one.value);
    return { one, place, start, end };
  });
  return (
    <TotalsFigure {...props}>
      <div className="flex flex-wrap items-center justify-center gap-6">
        <svg viewBox="-100 -100 200 200" className="size-52 shrink-0" aria-hidden="true">
          {arcs.map(({ one, place, start, end: until }) => (
            // biome-ignore lint/a11y/noStaticElementInteractions: the list beside it has the keys.
            <path
              key={one.key ?? one.name}
              d={arcPath(start, until)}
              fill={`var(${markOf({ ...one, values: [] }, place).token})`}
              className={`stroke-panel ${onOpen ? "cursor-pointer" : ""}`}
              strokeWidth={2}
              onClick={() => onOpen?.(place)}
            />
          ))}
          <text textAnchor="middle" dy="0.35em" className="fill-ink font-semibold text-[22px]">
            {format(whole)}
          </text>
        </svg>
        <ul className="flex min-w-60 flex-1 flex-col gap-1">
          {totals.map((one, place) => (
            <TotalRow
              key={one.key ?? one.name}
              total={one}
              place={place}
              share={shareOf(one.value)}
              text={words.withShare(
                format(one.value),
                formatShare(Math.round(shareOf(one.value) * 1000) / 10),
              )}
              onOpen={onOpen && (() => onOpen(place))}
            />
          ))}
        </ul>
      </div>
    </TotalsFigure>
  );
}

/** Return the arc between two shares. A full circle stops just short, because an arc cannot end
 * where it starts. */
function arcPath(start: number, end: number): string {
  const until = Math.min(end, start + 0.9999);
  const at = (share: number, radius: number) => {
    const angle = share * 2 * Math.PI - Math.PI / 2;
    return `${(Math.cos(angle) * radius).toFixed(3)} ${(Math.sin(angle) * radius).toFixed(3)}`;
  };
  const large = until - start > 0.5 ? 1 : 0;
  return [
    `M ${at(start, RADIUS)} A ${RADIUS} ${RADIUS} 0 ${large} 1 ${at(until, RADIUS)}`,
    `L ${at(until, HOLE)} A ${HOLE} ${HOLE} 0 ${large} 0 ${at(start, HOLE)} Z`,
  ].join(" ");
}
