import { type Given, present } from "@/lib/searchParams";
import { type DateRange, readRange } from "@/ui/ranges";
import { words } from "@/words/insightsQuestion";
import { INTERVALS, readCompare } from "./address";
import {
  BREAKDOWN_TYPES,
  BREAKDOWNS_MAX,
  type Breakdown,
  FIRST,
  QUERY_KINDS,
  type Question,
} from "./model";
import { readBreakdown, readConditions, readSeries, writeBreakdown, writeSeries } from "./parts";
import { isObject, joined, type Reading } from "./reading";

/** A query of the API, such as `{"kind": "TrendsQuery", …}`. */
export type Query = { kind: string } & Given;

// The parts that queries of several kinds share. Each kind builds its query from them.

export const seriesParts = ({ series }: Question): Given[] =>
  series.map(({ isOptional: _, ...one }) => ({ kind: "EventsNode", ...writeSeries(one) }));

/** What every kind has: dates, conditions and the test account filter. */
export const scopeParts = (question: Question): Given =>
  present<Given>({
    dateRange: dateParts(question.dates),
    properties: question.filters.length === 0 ? undefined : question.filters,
    filterTestAccounts: question.withoutTests,
    aggregation_group_type_index: question.groupTypeIndex,
  });

const dateParts = ({ from, to }: DateRange): Given => ({
  date_from: from ?? "all",
  ...(to !== undefined && { date_to: to }),
});

export function breakdownParts({ breakdowns, breakdownLimit, hidesOther }: Question): Given {
  const [first] = breakdowns;
  if (first === undefined) return {};
  const beside = present<Given>({
    breakdown_limit: breakdownLimit,
    breakdown_hide_other_aggregation: hidesOther,
  });
  if (breakdowns.every(({ type }) => type === "cohort")) {
    const ids = breakdowns.map((one) => writeBreakdown(one).property);
    return { breakdownFilter: { breakdown: ids, breakdown_type: "cohort", ...beside } };
  }
  return { breakdownFilter: { breakdowns: breakdowns.map(writeBreakdown), ...beside } };
}

export const compareParts = ({ compare }: Question): Given => {
  if (compare === undefined) return {};
  return { compareFilter: { compare: true, ...(compare !== true && { compare_to: compare }) } };
};

/** The query fields that `readShared` reads. */
export const SHARED = [
  ...["kind", "series", "dateRange", "properties", "filterTestAccounts", "interval", "version"],
  ...["breakdownFilter", "compareFilter", "aggregation_group_type_index", "samplingFactor"],
];

/** Return the parts that a query shares with other kinds. A query never contains fields that its kind
 * does not have. */
export function readShared(reading: Reading, query: Given): Omit<Question, "kind" | "options"> {
  const shared = {
    series: reading
      .list("series", query.series)
      .flatMap((one, index) => readSeries(reading, `series[${index}]`, one) ?? []),
    filters: readConditions(reading, "properties", query.properties),
    withoutTests: reading.flag("filterTestAccounts", query.filterTestAccounts) ?? false,
    dates: readDateParts(reading, query.dateRange),
    interval: reading.choice("interval", query.interval, INTERVALS) ?? FIRST.interval,
    compare: readCompareParts(reading, query.compareFilter),
    groupTypeIndex: reading.whole(
      "aggregation_group_type_index",
      query.aggregation_group_type_index,
      0,
      4,
    ),
    ...readBreakdownParts(reading, query.breakdownFilter),
  };
  if (
    query.samplingFactor !== undefined &&
    query.samplingFactor !== null &&
    query.samplingFactor !== 1
  )
    reading.refuse("samplingFactor", query.samplingFactor, words.wholeBetween(1, 1));
  return present<Omit<Question, "kind" | "options">>(shared);
}

function readDateParts(reading: Reading, given: unknown): DateRange {
  const range = reading.object("dateRange", given);
  reading.known("dateRange", range, ["date_from", "date_to", "explicitDate"]);
  if (range.explicitDate === true) reading.refuse("dateRange.explicitDate", true);
  const from = reading.text("dateRange.date_from", range.date_from) ?? "-7d";
  const to = reading.text("dateRange.date_to", range.date_to);
  const dates = present<DateRange>({
    from: from === "all" ? undefined : from.replace(DAY_BEGINS, ""),
    to: to?.replace(DAY_ENDS, ""),
  });
  if (readRange(dates, dates).isUnknown) reading.refuse("dateRange", given, words.dayBounds);
  return dates;
}

// Times at the start or end of a day mean that day.
const DAY_BEGINS = /[T ]00:00(:00(\.0+)?)?$/;
const DAY_ENDS = /[T ]23:59(:59(\.9+)?)?$/;

function readCompareParts(reading: Reading, given: unknown): Question["compare"] {
  const filter = reading.object("compareFilter", given);
  reading.known("compareFilter", filter, ["compare", "compare_to"]);
  if (reading.flag("compareFilter.compare", filter.compare) !== true) return undefined;
  return readCompare(reading, "compareFilter.compare_to", filter.compare_to) ?? true;
}

const BREAKDOWN_NAMES = [
  ...["breakdown", "breakdown_type", "breakdowns", "breakdown_group_type_index"],
  ...["breakdown_limit", "breakdown_hide_other_aggregation", "breakdown_histogram_bin_count"],
];

function readBreakdownParts(
  reading: Reading,
  given: unknown,
): Pick<Question, "breakdowns" | "breakdownLimit" | "hidesOther"> {
  const place = "breakdownFilter";
  const filter = reading.object(place, given);
  reading.known(place, filter, BREAKDOWN_NAMES);
  const at = (name: string) => joined(place, name);
  return present({
    breakdowns: readBreakdowns(reading, place, filter),
    breakdownLimit: reading.whole(at("breakdown_limit"), filter.breakdown_limit, 1, 500),
    hidesOther:
      reading.flag(at("hide_other"), filter.breakdown_hide_other_aggregation) || undefined,
  });
}

function readBreakdowns(reading: Reading, place: string, filter: Given): Breakdown[] {
  const at = (name: string) => joined(place, name);
  const listed = reading.list(at("breakdowns"), filter.breakdowns);
  if (listed.length > 0)
    return listed
      .flatMap((one, index) => readBreakdown(reading, `${at("breakdowns")}[${index}]`, one) ?? [])
      .slice(0, BREAKDOWNS_MAX);
  const type = reading.choice(at("breakdown_type"), filter.breakdown_type, BREAKDOWN_TYPES);
  const given = filter.breakdown;
  const keys = Array.isArray(given) ? given : [given];
  return keys.flatMap((key) => {
    const one = {
      property: key,
      type,
      group_type_index: filter.breakdown_group_type_index,
      histogram_bin_count: filter.breakdown_histogram_bin_count,
    };
    return (key ?? "") === "" ? [] : (readBreakdown(reading, place, one) ?? []);
  });
}

/** Return the query inside nodes that only describe its display. */
export function unwrapped(query: unknown): unknown {
  const isWrapper = (one: unknown): one is Given =>
    isObject(one) && /^(InsightVizNode|DataTableNode|DataVisualizationNode)$/.test(`${one.kind}`);
  let inner = query;
  let shown: Given = {};
  for (let depth = 0; depth < 5 && isWrapper(inner); depth += 1) {
    const { display, chartSettings } = inner;
    shown = { ...present({ display, chartSettings }), ...shown };
    inner = inner.source;
  }
  // How an answer in SQL is shown is part of its question here; others say it themselves.
  return isObject(inner) && inner.kind === QUERY_KINDS.sql ? { ...shown, ...inner } : inner;
}

const PARTS = /^(dateRange|breakdownFilter|compareFilter|[a-z]+Filter)$/;
const DASHED = /(?<=[a-z0-9])([A-Z])/g;

const snake = (name: string): string => name.replace(DASHED, "_$1").toLowerCase();

/** Return the `filters` equivalent to a query, because requests for persons and cohorts take only
 * those. */
export function filtersOf(query: Given): Given {
  return Object.fromEntries(
    Object.entries(query).flatMap(([name, value]): [string, unknown][] => {
      if (name === "kind" || value === undefined) return [];
      if (name === "series" && Array.isArray(value)) return [["events", value.map(entityOf)]];
      if (PARTS.test(name) && isObject(value)) return Object.entries(value).map(partOf);
      return [[snake(name), value]];
    }),
  );
}

function partOf([name, value]: [string, unknown]): [string, unknown] {
  if (name === "formulaNodes") return [name, value];
  if (name === "exclusions" && Array.isArray(value)) return [name, value.map(entityOf)];
  return [snake(name), isObject(value) && isEntity(value) ? entityOf(value) : value];
}

const isEntity = (value: Given): boolean =>
  "event" in value || value.kind === "ActionsNode" || value.kind === "GroupNode";

/** Return whether a name is the same in `filters`. */
const isOfStep = (name: string): boolean => name === "optionalInFunnel";

function entityOf(given: Given, order?: number): Given {
  const { kind, event, ...rest } = given;
  const named = Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [isOfStep(name) ? name : snake(name), value]),
  );
  const placed = order !== undefined && { order };
  if (kind === "ActionsNode") return { ...named, type: "actions", ...placed };
  if (kind === "GroupNode" && Array.isArray(given.nodes)) {
    const nodes = given.nodes.map((node) => entityOf(node));
    return { ...named, type: "groups", nodes, ...placed };
  }
  return { ...named, id: event, type: "events", ...placed };
}
