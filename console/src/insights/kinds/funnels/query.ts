import { isComplete } from "@/filters";
import { FIRST_TIMES } from "@/insights/question/maths";
import { QUERY_KINDS, type Question } from "@/insights/question/model";
import { isObject, type Reading } from "@/insights/question/reading";
import {
  breakdownParts,
  compareParts,
  type Query,
  readShared,
  SHARED,
  scopeParts,
  seriesParts,
} from "@/insights/question/wire";
import { type Given, present } from "@/lib/searchParams";
import { words } from "@/words/insightsFunnels";
import { canSkip, type FunnelOptions, optionsOf, readOptions, writeOptions } from "./options";

const COUNTED = ["total", "dau"];
/** The API's name for a step of the first event that fulfils the conditions. */
const FIRST_WITH_CONDITIONS = "first_time_for_user_with_filters";

/** Return the parts of a question that a funnel uses: steps count persons, or their first times,
 * and values are not binned. */
export function usedParts(question: Question): { used: Question; options: FunnelOptions } {
  const options = usedOptions(question);
  const used: Question = {
    ...question,
    series: question.series.map(({ event, action, others, name, filters, math, isOptional }, at) =>
      present({
        ...{ event, action, others, name, filters },
        math: FIRST_TIMES.includes(math) ? math : "total",
        isOptional: canSkip(options, at) ? isOptional : undefined,
      }),
    ),
    breakdowns: question.breakdowns.map(({ bins: _, ...one }) => one),
  };
  return { used, options };
}

const stepParts = (question: Question): Given[] =>
  seriesParts(question).map((part, place) => ({
    ...part,
    ...(part.math === "first_matching_event_for_user" && { math: FIRST_WITH_CONDITIONS }),
    ...(question.series[place]?.isOptional && { optionalInFunnel: true }),
  }));

/** Return a query whose steps have the names of maths that all kinds share. */
function withSharedMaths(query: Query): Query {
  const { series } = query;
  if (!Array.isArray(series)) return query;
  return {
    ...query,
    series: series.map((one) =>
      isObject(one) && one.math === FIRST_WITH_CONDITIONS
        ? { ...one, math: "first_matching_event_for_user" }
        : one,
    ),
  };
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
    series: stepParts(used),
    ...(options.visualization === "trends" && { interval: used.interval }),
    ...scopeParts(used),
    ...breakdownParts(used),
    ...compareParts(used),
    ...present({ funnelsFilter: Object.keys(written).length === 0 ? undefined : written }),
  };
}

export function readFunnelsQuery(query: Query, reading: Reading): Question {
  reading.known("", query, [...SHARED, "funnelsFilter"]);
  const options = writeOptions(
    readOptions(reading.object("funnelsFilter", query.funnelsFilter), reading),
  );
  const shared = readShared(reading, withSharedMaths(query));
  shared.series.forEach(({ math }, place) => {
    if (!COUNTED.includes(math) && !FIRST_TIMES.includes(math))
      reading.refuse(`series[${place}].math`, math, words.countsPersons);
  });
  return {
    kind: "funnels",
    ...shared,
    series: shared.series.map((one) => ({
      ...one,
      math: FIRST_TIMES.includes(one.math) ? one.math : "total",
    })),
    options: Object.keys(options).length === 0 ? {} : { funnels: options },
  };
}
