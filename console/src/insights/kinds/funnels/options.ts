import type { Question, Series } from "@/insights/question/model";
import { readSeries, writeSeries } from "@/insights/question/parts";
import { isObject, joined, Reading } from "@/insights/question/reading";
import { type Given, present } from "@/lib/searchParams";

/** The visualizations of a funnel, by their API names. */
export const VISUALIZATIONS = ["steps", "time_to_convert", "trends"] as const;
export type Visualization = (typeof VISUALIZATIONS)[number];

export const ORDERS = ["ordered", "strict", "unordered"] as const;
export const UNITS = ["second", "minute", "hour", "day", "week", "month"] as const;
export type Unit = (typeof UNITS)[number];
export const ATTRIBUTIONS = ["first_touch", "last_touch", "all_events", "step"] as const;
export const REFERENCES = ["total", "previous"] as const;
/** These names come from other clients: vertical bars are placed side by side. */
export const LAYOUTS = ["vertical", "horizontal"] as const;

export const STEPS_MAX = 20;
export const BINS_MAX = 90;

const SECONDS: Record<Unit, number> = {
  second: 1,
  minute: 60,
  hour: 3600,
  day: 86_400,
  week: 604_800,
  month: 2_678_400,
};
// source: the server's fanion/insights/funnels/parts.py
const WINDOW_SECONDS_MAX = 3650 * 86_400;

/** Return the longest window of a unit. */
export const windowMax = (unit: Unit): number => Math.floor(WINDOW_SECONDS_MAX / SECONDS[unit]);

/** An event that must not happen between two steps; steps are zero-based. */
export interface Exclusion {
  entity: Pick<Series, "event" | "action" | "others" | "filters" | "name">;
  from: number;
  to: number;
}

export interface FunnelOptions {
  visualization: Visualization;
  order: (typeof ORDERS)[number];
  /** The conversion window, counted from the first step. */
  window: number;
  unit: Unit;
  exclusions: readonly Exclusion[];
  /** The zero-based steps that times and trends measure; undefined for the whole funnel. */
  from: number | undefined;
  to: number | undefined;
  /** undefined: chosen to suit the number of persons */
  bins: number | undefined;
  attribution: (typeof ATTRIBUTIONS)[number];
  /** The zero-based step for attribution by `step`. */
  attributionStep: number;
  /** What the bars show a share of. */
  reference: (typeof REFERENCES)[number];
  layout: (typeof LAYOUTS)[number];
  /** The expression in SQL whose values are counted; undefined for persons or groups. */
  countedBy: string | undefined;
}

/** Return whether a step, by its zero-based place, may be optional. */
export const canSkip = ({ order }: FunnelOptions, place: number): boolean =>
  order === "ordered" && place > 0;

/** The expression whose values are sessions. */
export const SESSIONS = "properties.$session_id";

const PLACE = "funnelsFilter";
const WINDOW = 14;
const NAMES = [
  ...["funnelVizType", "funnelOrderType", "funnelWindowInterval", "funnelWindowIntervalUnit"],
  ...["funnelWindowDays", "funnelFromStep", "funnelToStep", "binCount", "exclusions"],
  ...["breakdownAttributionType", "breakdownAttributionValue", "funnelStepReference", "layout"],
  ...["funnelAggregateByHogQL", "funnelAggregateByHogql", "funnel_aggregate_by_hogql"],
];
// Display options of other clients, ignored here.
const DRAWN = [
  ...["hiddenLegendBreakdowns", "hiddenLegendKeys", "breakdownSorting", "funnelAdvanced"],
  ...["resultCustomizations", "showValuesOnSeries", "goalLines", "showLegend", "showTrendLines"],
];

const at = (name: string) => joined(PLACE, name);
const oldName = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Return the options of a `funnelsFilter`. Older clients use snake_case names. */
export function readOptions(given: Given, reading: Reading = new Reading()): FunnelOptions {
  reading.known(PLACE, given, [...NAMES, ...NAMES.map(oldName), ...DRAWN]);
  const get = (name: string) => given[name] ?? given[oldName(name)];
  const choice = <T extends string>(name: string, choices: readonly T[]) =>
    reading.choice(at(name), get(name), choices);
  const step = (name: string) => reading.whole(at(name), get(name), 0, STEPS_MAX - 1);
  return {
    visualization: choice("funnelVizType", VISUALIZATIONS) ?? "steps",
    order: choice("funnelOrderType", ORDERS) ?? "ordered",
    ...readWindow(get, choice("funnelWindowIntervalUnit", UNITS) ?? "day", reading),
    exclusions: reading
      .list(at("exclusions"), get("exclusions"))
      .flatMap((one, index) => readExclusion(reading, `${at("exclusions")}[${index}]`, one)),
    from: step("funnelFromStep"),
    to: step("funnelToStep"),
    bins: reading.whole(at("binCount"), get("binCount"), 1, BINS_MAX),
    attribution: choice("breakdownAttributionType", ATTRIBUTIONS) ?? "first_touch",
    attributionStep: step("breakdownAttributionValue") ?? 0,
    reference: choice("funnelStepReference", REFERENCES) ?? "total",
    layout: choice("layout", LAYOUTS) ?? "vertical",
    countedBy: readCountedBy(get, reading),
  };
}

function readCountedBy(get: (name: string) => unknown, reading: Reading): string | undefined {
  const name = "funnelAggregateByHogQL";
  const given = get(name) ?? get("funnelAggregateByHogql") ?? get("funnel_aggregate_by_hogql");
  const text = reading.text(at(name), given);
  return text === "person_id" || text === "person.id" ? undefined : text;
}

function readWindow(
  get: (name: string) => unknown,
  unit: Unit,
  reading: Reading,
): Pick<FunnelOptions, "window" | "unit"> {
  const days = reading.whole(at("funnelWindowDays"), get("funnelWindowDays"), 1, windowMax("day"));
  if (days !== undefined) return { window: days, unit: "day" };
  const name = "funnelWindowInterval";
  return { window: reading.whole(at(name), get(name), 1, windowMax(unit)) ?? WINDOW, unit };
}

function readExclusion(reading: Reading, place: string, given: unknown): Exclusion[] {
  if (!isObject(given)) return reading.refuse(place, given) ?? [];
  const { funnelFromStep, funnelToStep, funnel_from_step, funnel_to_step, ...entity } = given;
  const series = readSeries(reading, place, entity);
  const step = (name: string, value: unknown, least: number) =>
    reading.whole(joined(place, name), value, least, STEPS_MAX - 1) ?? least;
  if (series === null) return [];
  const { event, action, others, filters, name } = series;
  return [
    {
      entity: present({ event, action, others, filters, name }),
      from: step("funnelFromStep", funnelFromStep ?? funnel_from_step, 0),
      to: step("funnelToStep", funnelToStep ?? funnel_to_step, 1),
    },
  ];
}

export function writeOptions(options: FunnelOptions): Given {
  const { visualization, order, exclusions, attribution } = options;
  const unless = <T>(usual: T, value: T) => (value === usual ? undefined : value);
  return present<Given>({
    funnelVizType: unless("steps", visualization),
    funnelOrderType: unless("ordered", order),
    funnelWindowInterval: unless(WINDOW, options.window),
    funnelWindowIntervalUnit: unless("day", options.unit),
    exclusions: exclusions.length === 0 ? undefined : exclusions.map(writeExclusion),
    funnelFromStep: options.from,
    funnelToStep: options.to,
    binCount: options.bins,
    breakdownAttributionType: unless("first_touch", attribution),
    breakdownAttributionValue: attribution === "step" ? options.attributionStep : undefined,
    funnelStepReference: unless("total", options.reference),
    layout: unless("vertical", options.layout),
    funnelAggregateByHogQL: options.countedBy,
  });
}

const writeExclusion = ({ entity, from, to }: Exclusion): Given => ({
  kind: "EventsNode",
  ...writeSeries({ ...entity, math: "total" }),
  funnelFromStep: from,
  funnelToStep: to,
});

export const optionsOf = ({ options }: Question): FunnelOptions =>
  readOptions(options.funnels ?? {});

export function withOptions(question: Question, changes: Partial<FunnelOptions>): Question {
  const { funnels: _, ...others } = question.options;
  const written = writeOptions({ ...optionsOf(question), ...changes });
  const isUsual = Object.keys(written).length === 0;
  return { ...question, options: isUsual ? others : { ...others, funnels: written } };
}
