import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useProject, useProjectId } from "@/app/session";
import type { Behind } from "@/charts/behind";
import { type Trend, TrendChart, type TrendFilters, trendQuery } from "@/insights";
import { DateRangeField } from "@/ui/DateRange";
import { Card } from "@/ui/Page";
import { datesOf, type Period, readRange, withRange } from "@/ui/ranges";
import { Loaded } from "@/ui/States";
import { words } from "@/words/events";

const route = getRouteApi("/signed-in/project/$projectId/events/$definitionId");
const USUAL = { from: "-30d" };
const PRESETS = ["-7d", "-30d", "-90d", "mStart", "-1mStart -1mEnd", "-12m"] as const;

/** How often an event happened, by day, with the persons behind each number. */
export function EventVolume({ event }: { event: string }) {
  const project = useProject();
  const { behind, ...search } = route.useSearch();
  const navigate = route.useNavigate();
  const period = readRange(search, USUAL);
  const filters = volumeFilters(event, period);
  const volume = useQuery(trendQuery(useProjectId(), filters));
  const onBehind = (next: Behind | undefined) =>
    void navigate({
      search: next === undefined ? search : { ...search, behind: next },
      resetScroll: false,
    });
  return (
    <Card
      title={words.volume.title}
      className="lg:col-span-2"
      actions={
        <DateRangeField
          value={period}
          zone={project?.timezone ?? "UTC"}
          presets={PRESETS}
          canCompare
          onChange={(range) =>
            void navigate({ search: withRange(search, range), resetScroll: false })
          }
        />
      }
    >
      <Loaded query={volume} rows={8}>
        {(found) => (
          <>
            <p className="mb-2 text-ink-2">{words.volume.total(totalOf(found))}</p>
            <TrendChart
              what={words.volume.caption(event)}
              filters={filters}
              trend={found}
              fileName="volume"
              since={project?.created_at}
              behind={behind}
              onBehind={onBehind}
            />
          </>
        )}
      </Loaded>
    </Card>
  );
}

const volumeFilters = (event: string, { range, isCompared }: Period): TrendFilters => ({
  insight: "TRENDS",
  events: [{ id: event }],
  interval: "day",
  ...datesOf(range),
  ...(isCompared && { compare: true }),
});

const totalOf = ({ series }: Trend): number =>
  series
    .filter((one) => !one.isPrevious)
    .flatMap((one) => one.values)
    .reduce((sum, one) => sum + one, 0);
