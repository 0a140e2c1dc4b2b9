import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { useProjectId } from "@/app/session";
import { captionOf, TimeSeries } from "@/charts";
import { Card, LINK } from "@/ui/Page";
import { Loaded } from "@/ui/States";
import { useTimes } from "@/ui/times";
import { formatNumber } from "@/words/format";
import { words } from "@/words/home";
import { eventsTodayQuery, type Hours, personsTodayQuery } from "./queries";

const HEIGHT = 180;

export function EventsToday() {
  const projectId = useProjectId();
  const today = useQuery(eventsTodayQuery(projectId));
  return (
    <Card
      title={words.today.events}
      className="lg:col-span-2"
      actions={
        <Link to="/project/$projectId/live" params={{ projectId }} className={LINK}>
          {words.today.live}
        </Link>
      }
    >
      <Loaded query={today} rows={8}>
        {(hours) => (
          <>
            <Total count={hours.total} zone={hours.zone} />
            <HourChart hours={hours} />
          </>
        )}
      </Loaded>
    </Card>
  );
}

function HourChart({ hours }: { hours: Hours }) {
  const clock = useTimes();
  const { times, values, zone, at } = hours;
  const series = useMemo(() => [{ name: words.today.series, values }], [values]);
  return (
    <TimeSeries
      caption={captionOf(words.today.byHour, times, "hour", { zone, isPartial: true })}
      times={times}
      series={series}
      interval="hour"
      zone={zone}
      isPartial
      height={HEIGHT}
      {...(at !== null && { note: words.today.age(clock.at(at)) })}
    />
  );
}

export function PersonsToday() {
  const projectId = useProjectId();
  const today = useQuery(personsTodayQuery(projectId));
  return (
    <Card
      title={words.today.persons}
      actions={
        <Link to="/project/$projectId/persons" params={{ projectId }} className={LINK}>
          {words.today.all}
        </Link>
      }
    >
      <Loaded query={today} rows={1}>
        {({ total, zone }) => <Total count={total} zone={zone} />}
      </Loaded>
    </Card>
  );
}

function Total({ count, zone }: { count: number; zone: string }) {
  return (
    <p className="mb-2 flex flex-wrap items-baseline gap-x-2">
      <span className="font-semibold text-3xl tabular-nums">{formatNumber(count)}</span>
      <span className="text-ink-2">{words.today.soFar(zone)}</span>
    </p>
  );
}
