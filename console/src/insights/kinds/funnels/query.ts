import { isComplete } from "@/filters";
import { QUERY_KINDS, type Question } from "@/insights/question/model";
import type { Reading } from "@/insights/question/reading";
import {
  breakdownParts,
  type Query,
  readShared,
  SHARED,
  scopeParts,
  seriesParts,
} from "@/insights/question/wire";
import { present } from "@/lib/searchParams";
import { words } from "@/words/insightsFunnels";
import { type FunnelOptions, optionsOf, readOptions, writeOptions } from "./options";

const COUNTED = ["total", "dau"];

/** Return the parts of a question that a funnel uses: steps count persons, and values are not
 * binned. */
export function usedParts(question: Question): { used: Question; options: FunnelOptions } {
  const options = usedOptions(question);
  const hasValues = options.visualization !== "time_to_convert";
  const used: Question = {
    ...question,
    series: question.series.map(({ event, action, others, name, filters }) =>
      present({ event, action, others, name, filters, math: "total" as const }),
    ),
    breakdowns: hasValues ? question.breakdowns.map(({ bins: _, ...one }) => one) : [],
  };
  return { used, options };
}

/** Return the options of the visualization, dropping steps that the funnel does not have. */
function usedOptions(question: Question): FunnelOptions {
  const options = optionsOf(question);
  const isOfPart = options.visualization !== "steps";
  const last = Math.max(question.series.length - 1, 1);
  const isBroken = question.breakdowns.length > 0;
  const { from, to } = options;
  return {
    ...options,
    exclusions: options.exclusions
      .filter(({ entity }) => entity.event !== "")
      .map((one) => ({
        ...one,
        entity: { ...one.entity, filters: one.entity.filters.filter(isComplete) },
      })),
    from: isOfPart && from !== undefined && from < last ? from : undefined,
    to: isOfPart && to !== undefined && to <= last ? to : undefined,
    countedBy: question.groupTypeIndex === undefined ? options.countedBy : undefined,
    bins: options.visualization === "time_to_convert" ? options.bins : undefined,
    attribution: isBroken ? options.attribution : "first_touch",
    attributionStep: Math.min(options.attributionStep, last),
  };
}

export function funnelsQuery(question: Question): Query {
  const { used, options } = usedParts(question);
  const written = writeOptions(options);
  return {
    kind: QUERY_KINDS.funnels,
    series: seriesParts(used),
    ...(options.visualization === "trends" && { interval: used.interval }),
    ...scopeParts(used),
    ...breakdownParts(used),
    ...present({ funnelsFilter: Object.keys(written).length === 0 ? undefined : written }),
  };
}

export function readFunnelsQuery(query: Query, reading: Reading): Question {
  reading.known("", query, [...SHARED, "funnelsFilter"]);
  const options = writeOptions(
    readOptions(reading.object("funnelsFilter", query.funnelsFilter), reading),
  );
  const shared = readShared(reading, query);
  shared.series.forEach(({ math }, place) => {
    if (!COUNTED.includes(math)) reading.refuse(`series[${place}].math`, math, words.countsPersons);
  });
  return {
    kind: "funnels",
    ...shared,
    series: shared.series.map((one) => ({ ...one, math: "total" })),
    options: Object.keys(options).length === 0 ? {} : { funnels: options },
  };
}
