import { type Given, present } from "@/lib/searchParams";
import { isSameRange, type RangeSearch, readRange } from "@/ui/ranges";
import { words } from "@/words/insightsQuestion";
import {
  BREAKDOWNS_MAX,
  FIRST,
  KIND_NAMES,
  type KindName,
  type Question,
  USUAL_DATES,
} from "./model";
import { readBreakdown, readConditions, readSeries, writeBreakdown, writeSeries } from "./parts";
import { Reading } from "./reading";

/** A question in the URL, by API names. */
export interface QuestionSearch extends Omit<RangeSearch, "compare"> {
  kind?: unknown;
  series?: unknown;
  properties?: unknown;
  /** true: test accounts are included. */
  tests?: unknown;
  breakdowns?: unknown;
  limit?: unknown;
  hide_other?: unknown;
  interval?: unknown;
  compare?: unknown;
  group_type?: unknown;
  trends?: unknown;
  funnels?: unknown;
  retention?: unknown;
  stickiness?: unknown;
  lifecycle?: unknown;
  paths?: unknown;
}

const NAMES = [
  ...["kind", "series", "properties", "tests", "breakdowns", "limit", "hide_other", "from", "to"],
  ...["interval", "compare", "group_type", ...KIND_NAMES],
];
export const INTERVALS = ["minute", "hour", "day", "week", "month", "quarter", "year"] as const;
const LIMIT_MAX = 500;
const GROUP_TYPES = 5;
const DISTANCE = /^-[1-9]\d{0,3}[hdwmqy]$/;

/** Return the question in a URL, and the problems with its invalid parts.
 *
 * others: parameters that belong to the screen, not to the question
 */
export function readQuestion(
  search: Given,
  others: readonly string[] = [],
): { question: Question; problems: readonly string[] } {
  const reading = new Reading();
  reading.known("", search, [...NAMES, ...others]);
  const kind = reading.choice("kind", search.kind, KIND_NAMES) ?? FIRST.kind;
  const breakdowns = reading
    .list("breakdowns", search.breakdowns)
    .flatMap((one, index) => readBreakdown(reading, `breakdowns[${index}]`, one) ?? []);
  const question = present<Question>({
    kind,
    series: reading
      .list("series", search.series)
      .flatMap((one, index) => readSeries(reading, `series[${index}]`, one) ?? []),
    filters: readConditions(reading, "properties", search.properties),
    withoutTests: reading.flag("tests", search.tests) !== true,
    breakdowns: breakdowns.some(({ type }) => type === "cohort")
      ? breakdowns
      : breakdowns.slice(0, BREAKDOWNS_MAX),
    breakdownLimit: reading.whole("limit", search.limit, 1, LIMIT_MAX),
    hidesOther: reading.flag("hide_other", search.hide_other) || undefined,
    dates: readDates(reading, search),
    interval: reading.choice("interval", search.interval, INTERVALS) ?? FIRST.interval,
    compare: readCompare(reading, "compare", search.compare),
    groupTypeIndex: reading.whole("group_type", search.group_type, 0, GROUP_TYPES - 1),
    options: readOptions(reading, search),
  });
  return { question, problems: reading.problems };
}

function readDates(reading: Reading, search: Given) {
  const given = present<RangeSearch>({
    from: reading.text("from", search.from),
    to: reading.text("to", search.to),
  });
  const { range, isUnknown } = readRange(given, USUAL_DATES);
  // "All time" needs a name, because a URL without a period means the default one.
  if (given.from === "all") return given.to === undefined ? {} : { to: given.to };
  if (isUnknown) reading.refuse(words.dates, [given.from, given.to]);
  return range;
}

export function readCompare(
  reading: Reading,
  place: string,
  given: unknown,
): true | string | undefined {
  if (given === true) return true;
  if (given === undefined || given === null || given === false || given === "") return undefined;
  if (typeof given === "string" && DISTANCE.test(given)) return given;
  return reading.refuse(place, given, words.aDistance);
}

function readOptions(reading: Reading, search: Given): Question["options"] {
  const of = (name: KindName) => {
    const options = reading.object(name, search[name]);
    return Object.keys(options).length === 0 ? [] : [[name, options]];
  };
  return Object.fromEntries(KIND_NAMES.flatMap(of));
}

/** Return the URL parameters of a question, without default values. */
export function writeQuestion(question: Question): QuestionSearch {
  const { series, filters, breakdowns, dates, interval, options } = question;
  const listed = <T>(list: readonly T[], write: (one: T) => unknown) =>
    list.length === 0 ? undefined : list.map(write);
  const isUsual = isSameRange(dates, USUAL_DATES);
  return {
    ...present<QuestionSearch>({
      kind: question.kind === FIRST.kind ? undefined : question.kind,
      series: listed(series, writeSeries),
      properties: listed(filters, (one) => one),
      tests: question.withoutTests ? undefined : true,
      breakdowns: listed(breakdowns, writeBreakdown),
      limit: question.breakdownLimit,
      hide_other: question.hidesOther,
      from: isUsual ? undefined : (dates.from ?? (dates.to === undefined ? "all" : undefined)),
      to: isUsual ? undefined : dates.to,
      interval: interval === FIRST.interval ? undefined : interval,
      compare: question.compare,
      group_type: question.groupTypeIndex,
    }),
    ...options,
  };
}
