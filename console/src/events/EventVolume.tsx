import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useProjectId } from "@/app/session";
import { captionOf, TimeSeries } from "@/charts";
import type { components } from "@/lib/schema";
import { Card } from "@/ui/Page";
import { Loaded } from "@/ui/States";
import { fromLocal } from "@/ui/zonedTime";
import { words } from "@/words/events";
import { type Definition, volumeQuery } from "./queries";

type Volume = components["schemas"]["VolumeBody"];

export function EventVolume({ definition }: { definition: Definition }) {
  const volume = useQuery(volumeQuery(useProjectId(), definition.id));
  return (
    <Card title={words.volume.title} className="lg:col-span-2">
      <Loaded query={volume} rows={6}>
        {(found) => (
          <>
            <p className="mb-2 text-ink-2">{words.volume.total(found.total)}</p>
            <Chart name={definition.name} volume={found} />
          </>
        )}
      </Loaded>
    </Card>
  );
}

function Chart({ name, volume }: { name: string; volume: Volume }) {
  const { days, timezone: zone } = volume;
  const times = useMemo(
    () => days.flatMap(({ day }) => fromLocal(`${day}T00:00`, zone) ?? []),
    [days, zone],
  );
  const series = useMemo(
    () => [{ name: words.volume.series, values: days.map(({ count }) => count) }],
    [days],
  );
  return (
    <TimeSeries
      caption={captionOf(words.volume.caption(name), times, "day", { zone, isPartial: true })}
      times={times}
      series={series}
      interval="day"
      zone={zone}
      isPartial
      fileName="volume"
    />
  );
}
