import { QUERY_KINDS, type Question } from "@/insights/question/model";
import type { Reading } from "@/insights/question/reading";
import { type Query, readShared, SHARED, scopeParts, seriesParts } from "@/insights/question/wire";
import { present } from "@/lib/searchParams";
import { optionsOf, PLACE, readOptions, writeOptions } from "./options";

export function lifecycleQuery(question: Question): Query {
  const options = writeOptions(optionsOf(question));
  // Always counts persons, whatever the series counts in other kinds.
  const series = question.series.slice(0, 1).map((one) => ({ ...one, math: "total" as const }));
  return {
    kind: QUERY_KINDS.lifecycle,
    series: seriesParts({ ...question, series }),
    interval: question.interval,
    ...scopeParts(question),
    ...present({ [PLACE]: Object.keys(options).length === 0 ? undefined : options }),
  };
}

const UNUSED = ["breakdownFilter", "compareFilter"];

export function readLifecycleQuery(query: Query, reading: Reading): Question {
  reading.known("", query, [...SHARED.filter((name) => !UNUSED.includes(name)), PLACE]);
  const options = writeOptions(readOptions(reading.object(PLACE, query[PLACE]), reading));
  return {
    kind: "lifecycle",
    ...readShared(reading, query),
    options: Object.keys(options).length === 0 ? {} : { lifecycle: options },
  };
}
