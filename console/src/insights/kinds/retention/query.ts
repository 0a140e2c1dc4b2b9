import type { Interval } from "@/charts";
import { QUERY_KINDS, type Question, type Series } from "@/insights/question/model";
import { readSeries, writeSeries } from "@/insights/question/parts";
import type { Reading } from "@/insights/question/reading";
import {
  breakdownParts,
  type Query,
  readShared,
  SHARED,
  scopeParts,
} from "@/insights/question/wire";
import type { Given } from "@/lib/searchParams";
import { optionsOf, PLACE, readQueryOptions, writeOptions } from "./options";

export const PERIODS = ["hour", "day", "week", "month"] as const;
export type Period = (typeof PERIODS)[number];

/** The interval of retention, which has no minutes. */
export const periodOf = ({ interval }: { interval: Interval }): Period =>
  interval === "minute" ? "hour" : interval;

/** The starting and the returning event, which are the same unless two are given. */
export function entitiesOf({ series }: Pick<Question, "series">): {
  target: Series | undefined;
  returning: Series | undefined;
} {
  const [target, returning = target] = series;
  return { target, returning };
}

/** Retention does not group numbers into ranges. */
export const withoutRanges = (question: Question): Question => ({
  ...question,
  breakdowns: question.breakdowns.map(({ bins: _, ...one }) => one),
});

export function retentionQuery(question: Question): Query {
  const { target, returning } = entitiesOf(question);
  const options = optionsOf(question);
  return {
    kind: QUERY_KINDS.retention,
    ...scopeParts(question),
    ...breakdownParts(withoutRanges(question)),
    retentionFilter: {
      ...writeOptions(options),
      totalIntervals: options.intervals,
      period: capitalized(periodOf(question)),
      ...(target !== undefined && { targetEntity: entityOf(target) }),
      ...(returning !== undefined && { returningEntity: entityOf(returning) }),
    },
  };
}

/** Always counts persons, whatever the series counts in other kinds. */
const entityOf = (series: Series): Given => ({
  kind: "EventsNode",
  ...writeSeries({ ...series, math: "total" }),
});

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export function readRetentionQuery(query: Query, reading: Reading): Question {
  reading.known("", query, [...SHARED, PLACE]);
  const { period, targetEntity, returningEntity, ...own } = reading.object(PLACE, query[PLACE]);
  const options = writeOptions(readQueryOptions(own, reading));
  const name = reading.choice(`${PLACE}.period`, period, PERIODS.map(capitalized));
  const target = readEntity(reading, "targetEntity", targetEntity);
  const returning = readEntity(reading, "returningEntity", returningEntity);
  const isSame = JSON.stringify(target) === JSON.stringify(returning);
  return {
    kind: "retention",
    ...readShared(reading, query),
    series: isSame ? [target] : [target, returning],
    interval: PERIODS.find((one) => capitalized(one) === name) ?? "day",
    options: Object.keys(options).length === 0 ? {} : { retention: options },
  };
}

const USUAL: Series = { event: "$pageview", math: "total", filters: [] };

function readEntity(reading: Reading, name: string, given: unknown): Series {
  if (given === undefined || given === null) return USUAL;
  return readSeries(reading, `${PLACE}.${name}`, given) ?? USUAL;
}
