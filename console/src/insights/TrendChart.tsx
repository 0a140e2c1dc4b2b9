import { useMemo } from "react";
import { intervalName, type Point } from "@/charts";
import type { Behind } from "@/charts/behind";
import { present } from "@/lib/searchParams";
import { formatNumber } from "@/words/format";
import { words } from "@/words/insights";
import { ActorsDrawer } from "./ActorsDrawer";
import { actorsOf } from "./actors";
import { DailyChart } from "./DailyChart";
import { placeOf } from "./kinds/trends/behind";
import { colorsOf, seriesOfLines } from "./kinds/trends/drawn";
import { beginOf, type Line } from "./kinds/trends/lines";
import type { Trend, TrendFilters } from "./trend";

interface Props {
  /** The name of what is counted. */
  what: string;
  /** The question, and its answer. */
  filters: TrendFilters;
  trend: Trend;
  fileName: string;
  note?: string;
  /** When what is counted began to exist. */
  since?: string | undefined;
  /** The values that the breakdown may have, whose colours are the same everywhere. */
  known?: readonly string[];
  /** The number whose persons are shown. */
  behind: Behind | undefined;
  onBehind: (behind: Behind | undefined) => void;
}

/** A trend by day. Each of its points opens the persons behind it. */
export function TrendChart({ trend, known = NONE, behind, onBehind, ...props }: Props) {
  const { what, filters, ...chart } = props;
  const series = useMemo(
    () => seriesOfLines(trend.series, colorsOf(trend.series, known)),
    [trend, known],
  );
  const open = ({ index, series: line }: Point) => {
    const one = trend.series.find(({ key }) => key === line.key);
    const day = one?.days[index];
    if (one !== undefined && day !== undefined) onBehind(behindOf(one, day));
  };
  const shown = behind && lineOf(trend, behind);
  return (
    <>
      <DailyChart
        {...chart}
        what={what}
        days={trend.days}
        zone={trend.zone}
        isPartial={trend.isPartial}
        series={series}
        onOpen={open}
      />
      {behind !== undefined && shown !== undefined && (
        <ActorsDrawer
          source={actorsOf({ insight: "TRENDS", filters, place: placeOf(shown, behind.day) })}
          description={describe(what, trend, behind)}
          name={nameOf(what, trend, behind)}
          onClose={() => onBehind(undefined)}
        />
      )}
    </>
  );
}

const NONE: readonly string[] = [];

const behindOf = (line: Line, day: string): Behind =>
  present<Behind>({
    day,
    value: textOfValue(line),
    isPrevious: line.isPrevious ? true : undefined,
  });

function lineOf(trend: Trend, { value, isPrevious }: Behind): Line | undefined {
  return trend.series.find(
    (one) => textOfValue(one) === value && one.isPrevious === (isPrevious ?? false),
  );
}

const textOfValue = ({ value }: Line): string | undefined =>
  value === undefined ? undefined : String(value);

const dayName = (day: string, zone: string): string =>
  intervalName(beginOf(day, zone), "day", zone);

function nameOf(what: string, trend: Trend, behind: Behind): string {
  const value = behind.value === undefined ? "" : ` ${lineOf(trend, behind)?.name ?? behind.value}`;
  return `${what}${value}, ${dayName(behind.day, trend.zone)}`;
}

function describe(what: string, trend: Trend, behind: Behind): string {
  const series = lineOf(trend, behind);
  const count = series?.values[series.days.indexOf(behind.day)];
  const name = nameOf(what, trend, behind);
  return count === undefined ? name : words.number(name, formatNumber(count));
}
