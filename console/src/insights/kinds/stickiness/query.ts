import { QUERY_KINDS, type Question } from "@/insights/question/model";
import type { Reading } from "@/insights/question/reading";
import {
  compareParts,
  type Query,
  readShared,
  SHARED,
  scopeParts,
  seriesParts,
} from "@/insights/question/wire";
import { present } from "@/lib/searchParams";
import { optionsOf, PLACE, readOptions, writeOptions } from "./options";

export const SERIES_MAX = 10;

export function stickinessQuery(question: Question): Query {
  const options = writeOptions(optionsOf(question));
  // Always counts persons, whatever the series count in other kinds.
  const series = question.series
    .slice(0, SERIES_MAX)
    .map((one) => ({ ...one, math: "total" as const }));
  return {
    kind: QUERY_KINDS.stickiness,
    series: seriesParts({ ...question, series }),
    interval: question.interval,
    ...scopeParts(question),
    ...compareParts(question),
    ...present({ [PLACE]: Object.keys(options).length === 0 ? undefined : options }),
  };
}

export function readStickinessQuery(query: Query, reading: Reading): Question {
  reading.known("", query, [...SHARED.filter((name) => name !== "breakdownFilter"), PLACE]);
  const options = writeOptions(readOptions(reading.object(PLACE, query[PLACE]), reading));
  return {
    kind: "stickiness",
    ...readShared(reading, query),
    options: Object.keys(options).length === 0 ? {} : { stickiness: options },
  };
}
