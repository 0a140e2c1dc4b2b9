import { words } from "@/words/charts";
import { formatNumber } from "@/words/format";
import { type Middle, middleOf } from "./countries";
import { countryName } from "./countryName";
import { type Total, TotalRow, TotalsFigure, type TotalsProps } from "./Totals";

const WIDTH = 720;
const HEIGHT = 320;
const SOUTH = -57;
const NORTH = 78;
const RADIUS = 26;
const STEP = 30;

interface WorldMapProps extends Omit<TotalsProps, "totals"> {
  /** Named by country code. */
  totals: readonly Total[];
}

/** A circle on each country, sized by its number, plus a list of the countries. */
export function WorldMap(props: WorldMapProps) {
  const { onOpen, format = formatNumber } = props;
  const most = Math.max(0, ...props.totals.map(({ value }) => value));
  const shareOf = (value: number) => (most === 0 ? 0 : Math.max(0, value) / most);
  const totals = props.totals.map((one) => ({ ...one, name: countryName(one.name) }));
  const placed = props.totals.flatMap((one, place) => {
    const middle = middleOf(one.name);
    return middle === undefined || one.value <= 0 ? [] : [{ one, place, middle }];
  });
  return (
    <TotalsFigure {...props} totals={totals}>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        className="w-full rounded bg-sunken"
        aria-hidden="true"
      >
        <Grid />
        {placed.map(({ one, place, middle }) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: the list below has the keys.
          <circle
            key={one.key ?? one.name}
            {...at(middle)}
            r={Math.max(2.5, Math.sqrt(shareOf(one.value)) * RADIUS)}
            className={`fill-series-1 stroke-panel ${onOpen ? "cursor-pointer" : ""}`}
            fillOpacity={0.7}
            onClick={() => onOpen?.(place)}
          >
            <title>{words.valueOf(countryName(one.name), format(one.value))}</title>
          </circle>
        ))}
      </svg>
      <ul className="mt-3 flex max-h-72 flex-col gap-1 overflow-y-auto">
        {totals.map((one, place) => (
          <TotalRow
            key={one.key ?? one.name}
            total={{ ...one, color: 1 }}
            place={0}
            share={shareOf(one.value)}
            text={format(one.value)}
            onOpen={onOpen && (() => onOpen(place))}
          />
        ))}
      </ul>
    </TotalsFigure>
  );
}

const across = (east: number): number => ((east + 180) / 360) * WIDTH;
const down = (north: number): number => ((NORTH - north) / (NORTH - SOUTH)) * HEIGHT;
const at = ({ north, east }: Middle) => ({ cx: across(east), cy: down(north) });

/** Latitude and longitude lines, because the map has no coastlines. */
function Grid() {
  const easts = Array.from({ length: 360 / STEP - 1 }, (_, place) => STEP * (place + 1) - 180);
  const norths = [-30, 0, 30, 60];
  return (
    <g className="stroke-line" strokeWidth={1}>
      {easts.map((east) => (
        <line key={east} x1={across(east)} x2={across(east)} y1={0} y2={HEIGHT} />
      ))}
      {norths.map((north) => (
        <line
          key={north}
          x1={0}
          x2={WIDTH}
          y1={down(north)}
          y2={down(north)}
          strokeWidth={north === 0 ? 2 : 1}
        />
      ))}
    </g>
  );
}
