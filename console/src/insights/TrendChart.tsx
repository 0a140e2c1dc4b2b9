import { useMemo } from "react";
import { colorsByValue, intervalName, type Point, type Series } from "@/charts";
import type { Behind } from "@/charts/behind";
import { present } from "@/lib/searchParams";
import { fromLocal } from "@/ui/zonedTime";
import { words as rangeWords } from "@/words/dateRange";
import { formatNumber } from "@/words/format";
import { words } from "@/words/insights";
import { ActorsDrawer } from "./ActorsDrawer";
import { DailyChart } from "./DailyChart";
import type { Trend, TrendFilters, TrendSeries } from "./trend";

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
  const series = useMemo(() => linesOf(trend, known), [trend, known]);
  const open = ({ index, series: line }: Point) => {
    const one = trend.series.find((found) => keyOf(found) === line.key);
    const day = one?.days[index];
    if (one !== undefined && day !== undefined) onBehind(behindOf(one, day));
  };
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
      {behind !== undefined && (
        <ActorsDrawer
          question={{ insight: "TRENDS", filters, place: placeOf(behind) }}
          description={describe(what, trend, behind)}
          name={nameOf(what, trend, behind)}
          onClose={() => onBehind(undefined)}
        />
      )}
    </>
  );
}

const NONE: readonly string[] = [];

const keyOf = ({ name, isPrevious }: TrendSeries): string => `${isPrevious ? "-" : "+"}${name}`;

function linesOf(trend: Trend, known: readonly string[]): Series[] {
  const colors = colorsByValue(
    trend.series.map((one) => one.name),
    known,
  );
  return trend.series.map((one) => {
    const color = trend.series.every(({ value }) => value === undefined) ? 1 : colors.get(one.name);
    return {
      key: keyOf(one),
      name: one.isPrevious ? rangeWords.previous(one.name) : one.name,
      values: one.values,
      isPrevious: one.isPrevious,
      ...(color !== undefined && { color }),
    };
  });
}

const behindOf = ({ value, isPrevious }: TrendSeries, day: string): Behind =>
  present<Behind>({ day, value, isPrevious: isPrevious ? true : undefined });

/** Return the place of a number, in the names of the API. */
const placeOf = ({ day, value, isPrevious }: Behind): Record<string, unknown> => ({
  day,
  entity_order: 0,
  ...(value !== undefined && { breakdown_value: value }),
  ...(isPrevious && { compare_label: "previous" }),
});

function seriesOf(trend: Trend, { value, isPrevious }: Behind): TrendSeries | undefined {
  return trend.series.find(
    (one) => one.value === value && one.isPrevious === (isPrevious ?? false),
  );
}

const dayName = (day: string, zone: string): string =>
  intervalName(fromLocal(`${day}T00:00`, zone) ?? new Date(day), "day", zone);

function nameOf(what: string, trend: Trend, behind: Behind): string {
  const value =
    behind.value === undefined ? "" : ` ${seriesOf(trend, behind)?.name ?? behind.value}`;
  return `${what}${value}, ${dayName(behind.day, trend.zone)}`;
}

function describe(what: string, trend: Trend, behind: Behind): string {
  const series = seriesOf(trend, behind);
  const count = series?.values[series.days.indexOf(behind.day)];
  const name = nameOf(what, trend, behind);
  return count === undefined ? name : words.number(name, formatNumber(count));
}
