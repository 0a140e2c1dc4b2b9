import type { Question } from "@/insights/question/model";
import type { Reading } from "@/insights/question/reading";
import {
  breakdownParts,
  compareParts,
  type Query,
  readShared,
  SHARED,
  scopeParts,
  seriesParts,
} from "@/insights/question/wire";
import { present } from "@/lib/searchParams";
import { optionsOf, readOptions, writeOptions } from "./options";

export const QUERY_KIND = "TrendsQuery";

export function trendsQuery(question: Question): Query {
  const options = writeOptions(optionsOf(question));
  return {
    kind: QUERY_KIND,
    series: seriesParts(question),
    interval: question.interval,
    ...scopeParts(question),
    ...breakdownParts(question),
    ...compareParts(question),
    ...present({ trendsFilter: Object.keys(options).length === 0 ? undefined : options }),
  };
}

export function readTrendsQuery(query: Query, reading: Reading): Question {
  reading.known("", query, [...SHARED, "trendsFilter"]);
  const options = writeOptions(
    readOptions(reading.object("trendsFilter", query.trendsFilter), reading),
  );
  return {
    kind: "trends",
    ...readShared(reading, query),
    options: Object.keys(options).length === 0 ? {} : { trends: options },
  };
}
