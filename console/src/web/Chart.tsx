import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Annotated, useAnnotations, useMarks } from "@/annotations";
import { useProject, useProjectId } from "@/app/session";
import {
  captionOf,
  type Interval,
  intervalName,
  type Point,
  type Series,
  TimeSeries,
} from "@/charts";
import { ActorsDrawer, actorsOf, type Trend, type TrendSeries, trendQuery } from "@/insights";
import { useNow } from "@/lib/hooks";
import { present } from "@/lib/searchParams";
import { Loaded } from "@/ui/States";
import { fromLocal } from "@/ui/zonedTime";
import { words as rangeWords } from "@/words/dateRange";
import { words as insightWords } from "@/words/insights";
import { words } from "@/words/web";
import type { WebBehind } from "./behind";
import { type Figure, type FigureName, hasPersons } from "./figures";
import { formatValue } from "./numbers";
import { intervalOf, orderOfEvent, pointsOf, trendOf, VIEWS } from "./overTime";
import { pointsQuery } from "./points";
import type { View } from "./view";

const MINUTE_MS = 60_000;
const HEIGHT = 230;

/** The question for a figure over time. */
export function useChartQuestion({ common, zone }: View, name: FigureName) {
  const projectId = useProjectId();
  const now = useNow(MINUTE_MS);
  const interval = intervalOf(common.range, zone, new Date(now));
  const filters = useMemo(() => trendOf(name, { ...common, interval }), [name, common, interval]);
  const points = pointsOf(name, { ...common, interval });
  const query = points === null ? trendQuery(projectId, filters) : pointsQuery(projectId, points);
  return { interval, filters, query };
}

/** A figure over time. Each point that counts persons opens them. */
export function Chart({ view, figure }: { view: View; figure: Figure }) {
  const { search, change } = view;
  const { interval, filters, query } = useChartQuestion(view, figure.name);
  const trend = useQuery(query);
  const projectId = useProjectId();
  const place = useMemo(() => ({ projectId }), [projectId]);
  const onBehind = (behind: WebBehind | undefined) => change({ behind });
  return (
    <Loaded query={trend} rows={9}>
      {(found) => (
        <>
          <Annotated value={place}>
            <Lines
              figure={figure}
              interval={interval}
              trend={found}
              onBehind={hasPersons(figure.name) ? onBehind : undefined}
            />
          </Annotated>
          {search.behind !== undefined && (
            <ActorsDrawer
              source={actorsOf({ insight: "TRENDS", filters, place: placeOf(search.behind) })}
              description={describe(figure, found, interval, search.behind)}
              name={nameOf(figure, found.zone, interval, search.behind)}
              onClose={() => onBehind(undefined)}
            />
          )}
        </>
      )}
    </Loaded>
  );
}

interface LinesProps {
  figure: Figure;
  interval: Interval;
  trend: Trend;
  onBehind: ((behind: WebBehind) => void) | undefined;
}

function Lines({ figure, interval, trend, onBehind }: LinesProps) {
  const since = useProject()?.created_at;
  const shown = useMemo(() => shownLines(trend), [trend]);
  const times = useMemo(
    () => trend.days.map((day) => beginOf(day, trend.zone)),
    [trend.days, trend.zone],
  );
  const marks = useMarks(useAnnotations(times));
  const events = useMemo(() => [...new Set(shown.map(({ name }) => name))], [shown]);
  const series = useMemo(
    () => shown.map((one) => lineOf(figure, one, events, times, since)),
    [figure, shown, events, times, since],
  );
  const open = ({ index, series: line }: Point) => {
    const one = shown.find((found) => keyOf(found) === line.key);
    const at = one?.days[index];
    if (one !== undefined && at !== undefined) {
      const isPrevious = one.isPrevious ? true : undefined;
      onBehind?.(present<WebBehind>({ at, event: one.name, isPrevious }));
    }
  };
  const { zone, isPartial } = trend;
  const what = words.figures[figure.name];
  return (
    <TimeSeries
      caption={captionOf(what, times, interval, { zone, isPartial })}
      times={times}
      series={series}
      interval={interval}
      zone={zone}
      isPartial={isPartial}
      marks={marks}
      height={HEIGHT}
      format={(value) => formatValue(value, figure.unit)}
      fileName={what}
      note={words.chartNotes[figure.name]}
      {...(onBehind && { onOpen: open })}
    />
  );
}

const keyOf = ({ name, isPrevious }: TrendSeries): string => `${isPrevious ? "-" : "+"}${name}`;

/** Return the lines: only page views if no app screens were seen, and vice versa. */
function shownLines({ series }: Trend): readonly TrendSeries[] {
  const events: readonly string[] = VIEWS;
  if (!series.every((one) => events.includes(one.name))) return series;
  const used = VIEWS.filter((event) =>
    series.some((one) => one.name === event && one.values.some((value) => value !== 0)),
  );
  const [kept = VIEWS[0], ...others] = used;
  return others.length > 0 ? series : series.filter((one) => one.name === kept);
}

function lineOf(
  figure: Figure,
  one: TrendSeries,
  events: readonly string[],
  times: readonly Date[],
  since: string | undefined,
): Series {
  const what = words.figures[figure.name];
  const of = one.name === "$screen" ? words.ofScreens : words.ofPages;
  const name = events.length > 1 ? words.eventLine(what, of) : what;
  return {
    key: keyOf(one),
    name: one.isPrevious ? rangeWords.previous(name) : name,
    values: one.isPrevious ? one.values : existing(one.values, times, since),
    isPrevious: one.isPrevious,
    color: events.indexOf(one.name) === 0 ? 1 : 2,
  };
}

/** Return the values without zeros for intervals that ended before the project existed. */
function existing(
  values: readonly number[],
  times: readonly Date[],
  since: string | undefined,
): readonly (number | null)[] {
  if (since === undefined) return values;
  const born = new Date(since);
  const isOver = (index: number) => (times[index + 1] ?? new Date()) <= born;
  const first = values.findIndex((value, index) => value !== 0 || !isOver(index));
  return values.map((value, index) => (index < first ? null : value));
}

const beginOf = (at: string, zone: string): Date => {
  const local = at.length > 10 ? at.replace(" ", "T") : `${at}T00:00`;
  return fromLocal(local.slice(0, 16), zone) ?? new Date(`${local.slice(0, 16)}Z`);
};

const placeOf = ({ at, event, isPrevious }: WebBehind): Record<string, unknown> => ({
  day: at,
  entity_order: orderOfEvent(event),
  ...(isPrevious && { compare_label: "previous" }),
});

function nameOf(figure: Figure, zone: string, interval: Interval, { at }: WebBehind): string {
  return `${words.figures[figure.name]}, ${intervalName(beginOf(at, zone), interval, zone)}`;
}

function describe(figure: Figure, trend: Trend, interval: Interval, behind: WebBehind): string {
  const one = trend.series.find(
    ({ name, isPrevious }) => name === behind.event && isPrevious === (behind.isPrevious ?? false),
  );
  const count = one?.values[one.days.indexOf(behind.at)];
  const name = nameOf(figure, trend.zone, interval, behind);
  return count === undefined ? name : insightWords.number(name, formatValue(count, figure.unit));
}
