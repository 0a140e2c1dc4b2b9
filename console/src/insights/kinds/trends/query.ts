import { QUERY_KINDS, type Question } from "@/insights/question/model";
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
import { canCompare, isOfTotals, optionsOf, readOptions, writeOptions } from "./options";
import { shownQuestion } from "./shown";

export function trendsQuery(asked: Question): Query {
  const question = shownQuestion(asked);
  const own = optionsOf(question);
  const isWhole = isOfTotals(own.display);
  const options = writeOptions({ ...own, smoothing: isWhole ? 1 : own.smoothing });
  return {
    kind: QUERY_KINDS.trends,
    series: seriesParts(question),
    interval: question.interval,
    ...scopeParts(question),
    ...breakdownParts(question),
    ...(canCompare(own.display) ? compareParts(question) : {}),
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
