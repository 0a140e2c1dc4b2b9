import { useMemo } from "react";
import { captionOf, type Series, TimeSeries, type TimeSeriesProps } from "@/charts";
import { beginOf } from "./kinds/trends/lines";

interface Props
  extends Pick<
    TimeSeriesProps,
    "series" | "thresholds" | "note" | "height" | "isPartial" | "onOpen"
  > {
  /** The name of what is counted. */
  what: string;
  /** Days such as `2026-05-14` in the zone. */
  days: readonly string[];
  zone: string;
  fileName: string;
  /** When what is counted began to exist; before that, nothing is not a number. */
  since?: string | undefined;
}

/** Numbers by day of the project's time zone. */
export function DailyChart({ what, days, zone, since, isPartial = true, ...chart }: Props) {
  const times = useMemo(() => days.map((day) => beginOf(day, zone)), [days, zone]);
  const { series } = chart;
  const shown = useMemo(
    () => series.map((one) => existing(one, times, since)),
    [series, times, since],
  );
  return (
    <TimeSeries
      caption={captionOf(what, times, "day", { zone, isPartial })}
      times={times}
      interval="day"
      zone={zone}
      isPartial={isPartial}
      {...chart}
      series={shown}
    />
  );
}

/** Return the series without the zeros at its start that are of days before what is counted existed. */
function existing(series: Series, times: readonly Date[], since: string | undefined): Series {
  if (since === undefined || series.isPrevious) return series;
  const born = new Date(since);
  const isOver = (index: number) => (times[index + 1] ?? new Date()) <= born;
  const first = series.values.findIndex((value, index) => value !== 0 || !isOver(index));
  return { ...series, values: series.values.map((value, index) => (index < first ? null : value)) };
}
