import { type PropertyFilter, readFilter } from "@/filters";
import type { Given } from "@/lib/searchParams";
import { present } from "@/lib/searchParams";
import { words } from "@/words/insightsQuestion";
import { isOfProperty, MATHS, needsProperty, SQL_MATH } from "./maths";
import {
  BREAKDOWN_TYPES,
  type Breakdown,
  type Series,
  type SeriesAction,
  type SeriesEvent,
} from "./model";
import { isObject, joined, type Reading } from "./reading";

// Parts of a question that the API and the URL have in common.

const GROUP_TYPES = 5;
const BINS_MAX = 100;
const SERIES_NAMES = [
  ...["kind", "event", "id", "name", "custom_name", "math", "math_property", "type", "order"],
  ...["math_property_type", "math_group_type_index", "properties", "fixedProperties", "version"],
  ...["math_hogql", "math_multiplier", "operator", "nodes", "optionalInFunnel"],
];
const NODE_NAMES = ["kind", "event", "id", "name", "custom_name", "math", "type", "version"];

export function readSeries(reading: Reading, place: string, given: unknown): Series | null {
  if (!isObject(given)) {
    reading.refuse(place, given, words.object);
    return null;
  }
  reading.known(place, given, SERIES_NAMES);
  const at = (name: string) => joined(place, name);
  const isGroup = given.kind === "GroupNode";
  const [first, ...others] = isGroup ? readNodes(reading, at("nodes"), given.nodes) : [];
  if (isGroup && first === undefined) {
    reading.refuse(at("nodes"), given.nodes, words.list);
    return null;
  }
  const filters = [
    ...readConditions(reading, at("properties"), given.properties, "event"),
    ...readConditions(reading, at("fixedProperties"), given.fixedProperties, "event"),
  ];
  const ofPerson = reading.choice(at("math_property_type"), given.math_property_type, [
    "event_properties",
    "person_properties",
    "session_properties",
  ]);
  return present<Series>({
    ...(first ?? readEvent(reading, at, given)),
    others: others.length === 0 ? undefined : others,
    name: reading.text(at("custom_name"), given.custom_name),
    math: reading.choice(at("math"), given.math, MATHS) ?? "total",
    mathProperty: reading.text(at("math_property"), given.math_property),
    isOfPerson: ofPerson === "person_properties" ? true : undefined,
    multiplier: readMultiplier(reading, at("math_multiplier"), given.math_multiplier),
    sql: reading.text(at("math_hogql"), given.math_hogql),
    groupTypeIndex: reading.whole(
      at("math_group_type_index"),
      given.math_group_type_index,
      0,
      GROUP_TYPES - 1,
    ),
    isOptional: reading.flag(at("optionalInFunnel"), given.optionalInFunnel) || undefined,
    filters,
  });
}

/** Return the events of a group; those with conditions of their own are reported. */
function readNodes(reading: Reading, place: string, given: unknown): SeriesEvent[] {
  return reading.list(place, given).flatMap((node, index) => {
    const at = (name: string) => joined(`${place}[${index}]`, name);
    if (!isObject(node)) return reading.refuse(`${place}[${index}]`, node, words.object) ?? [];
    reading.known(`${place}[${index}]`, node, NODE_NAMES);
    return [readEvent(reading, at, node)];
  });
}

function readEvent(reading: Reading, at: (name: string) => string, given: Given): SeriesEvent {
  const kind = reading.choice(at("kind"), given.kind, ["EventsNode", "ActionsNode"]);
  const action = kind === "ActionsNode" ? readAction(reading, at, given) : undefined;
  if (action !== undefined) return { event: null, action };
  return { event: reading.text(at("event"), given.event ?? given.id) ?? null };
}

function readMultiplier(reading: Reading, place: string, given: unknown): number | undefined {
  if (given === undefined || given === null || given === "") return undefined;
  const number = Number(given);
  if (Number.isFinite(number) && number !== 0) return number;
  return reading.refuse(place, given, words.aNumber);
}

function readAction(
  reading: Reading,
  at: (name: string) => string,
  given: Given,
): SeriesAction | undefined {
  const id = reading.whole(at("id"), given.id, 1, Number.MAX_SAFE_INTEGER);
  if (id === undefined) return reading.refuse(at("id"), given.id);
  return { id, name: reading.text(at("name"), given.name) ?? words.actionOf(id) };
}

const writeEvent = ({ event, action }: SeriesEvent): Given =>
  action === undefined ? { event } : { kind: "ActionsNode", id: action.id, name: action.name };

function writeEntity({ event, action, others = [] }: Series): Given {
  const first = present<SeriesEvent>({ event, action });
  if (others.length === 0) return writeEvent(first);
  const nodes = [first, ...others].map((one) => ({ kind: "EventsNode", ...writeEvent(one) }));
  return { kind: "GroupNode", operator: "OR", nodes };
}

export const writeSeries = (series: Series): Given =>
  present<Given>({
    ...writeEntity(series),
    custom_name: series.name,
    math: series.math === "total" ? undefined : series.math,
    math_property: needsProperty(series.math) ? series.mathProperty : undefined,
    math_multiplier: needsProperty(series.math) ? series.multiplier : undefined,
    math_property_type:
      isOfProperty(series.math) && series.isOfPerson ? "person_properties" : undefined,
    math_hogql: series.math === SQL_MATH ? (series.sql ?? "") : undefined,
    math_group_type_index:
      series.math === "unique_group" ? (series.groupTypeIndex ?? 0) : undefined,
    optionalInFunnel: series.isOptional,
    properties: series.filters.length === 0 ? undefined : series.filters,
  });

/** Conditions that must all hold: a list, or a tree of only ANDs. */
export function readConditions(
  reading: Reading,
  place: string,
  given: unknown,
  otherwise: "event" | "person" = "event",
): PropertyFilter[] {
  if (isObject(given) && "values" in given) return readGroup(reading, place, given, otherwise);
  const list = isObject(given) && Object.keys(given).length > 0 ? [given] : given;
  return reading.list(place, isObject(list) ? [] : list).flatMap((one, index) => {
    const at = `${place}[${index}]`;
    if (isObject(one) && "values" in one) return readGroup(reading, at, one, otherwise);
    const filter = readFilter(one, otherwise);
    if (filter === null || filter.type === "flag") {
      reading.refuse(at, one, words.conditions);
      return [];
    }
    return [filter];
  });
}

function readGroup(
  reading: Reading,
  place: string,
  given: Given,
  otherwise: "event" | "person",
): PropertyFilter[] {
  const values = reading.list(joined(place, "values"), given.values);
  if (values.length > 1 && String(given.type).toUpperCase() === "OR") {
    reading.refuse(place, given, words.allOf);
    return [];
  }
  return readConditions(reading, joined(place, "values"), values, otherwise);
}

const BREAKDOWN_NAMES = ["property", "type", "group_type_index", "histogram_bin_count", "value"];

export function readBreakdown(reading: Reading, place: string, given: unknown): Breakdown | null {
  if (!isObject(given)) {
    reading.refuse(place, given, words.object);
    return null;
  }
  reading.known(place, given, [...BREAKDOWN_NAMES, "normalize_url"]);
  const at = (name: string) => joined(place, name);
  if (given.normalize_url === true) reading.refuse(at("normalize_url"), true);
  const named = given.property ?? given.value;
  // An incomplete breakdown stays in the URL, like a condition without a value.
  const property = named === "" ? "" : reading.text(at("property"), named);
  if (property === undefined) return null;
  return present<Breakdown>({
    type: reading.choice(at("type"), given.type, BREAKDOWN_TYPES) ?? "event",
    property,
    groupTypeIndex: reading.whole(
      at("group_type_index"),
      given.group_type_index,
      0,
      GROUP_TYPES - 1,
    ),
    bins: reading.whole(at("histogram_bin_count"), given.histogram_bin_count, 1, BINS_MAX),
  });
}

export const writeBreakdown = ({ type, property, groupTypeIndex, bins }: Breakdown): Given =>
  present<Given>({
    property: type === "cohort" && /^\d+$/.test(property) ? Number(property) : property,
    type,
    group_type_index: type === "group" ? (groupTypeIndex ?? 0) : undefined,
    histogram_bin_count: type === "cohort" ? undefined : bins,
  });
