import { useMemo } from "react";
import { captionOf, type Series, TimeSeries, type TimeSeriesProps } from "@/charts";
import { fromLocal } from "@/ui/zonedTime";

interface Props extends Pick<TimeSeriesProps, "series" | "threshold" | "note" | "height"> {
  /** The name of what is counted. */
  what: string;
  /** Days such as `2026-05-14` in the zone; the last is incomplete. */
  days: readonly string[];
  zone: string;
  fileName: string;
}

/** Numbers by day of the project's time zone. */
export function DailyChart({ what, days, zone, ...chart }: Props) {
  const times = useMemo(() => days.map((day) => beginOf(day, zone)), [days, zone]);
  return (
    <TimeSeries
      caption={captionOf(what, times, "day", { zone, isPartial: true })}
      times={times}
      interval="day"
      zone={zone}
      isPartial
      {...chart}
    />
  );
}

function beginOf(day: string, zone: string): Date {
  return fromLocal(`${day}T00:00`, zone) ?? new Date(`${day}T00:00Z`);
}

export const seriesOf = (
  entries: readonly { value: string; data: readonly number[] }[],
): Series[] => entries.map(({ value, data }) => ({ name: value, values: data }));
