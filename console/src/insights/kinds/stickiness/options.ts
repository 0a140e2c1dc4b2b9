import { withKindOptions } from "@/insights/question/kindOptions";
import type { Question } from "@/insights/question/model";
import { joined, Reading } from "@/insights/question/reading";
import { type Given, present } from "@/lib/searchParams";

export const DISPLAYS = ["ActionsBar", "ActionsLineGraph"] as const;
export const FORMATS = ["numeric", "percentage"] as const;
/** How the number of events in an interval compares with the required number. */
export const OPERATORS = ["gte", "lte", "exact"] as const;
export const EVENTS_MAX = 1_000_000;
export const PLACE = "stickinessFilter";

/** How stickiness is counted and shown, by API names. */
export interface StickinessOptions {
  display: (typeof DISPLAYS)[number];
  format: (typeof FORMATS)[number];
  /** Whether a number counts persons with that many intervals or more. */
  isCumulative: boolean;
  /** The number of events needed for an interval to count. */
  criteria: { operator: (typeof OPERATORS)[number]; value: number };
}

const NAMES = ["display", "aggregationAxisFormat", "computedAs", "stickinessCriteria"];
// Display options of other clients, ignored here.
const DRAWN = ["showLegend", "showValuesOnSeries", "showMultipleYAxes", "hiddenLegendIndexes"];
const COMPUTED = ["non_cumulative", "cumulative"] as const;

/** Return the options of a `stickinessFilter`. */
export function readOptions(given: Given, reading: Reading = new Reading()): StickinessOptions {
  reading.known(PLACE, given, [...NAMES, ...DRAWN]);
  const at = (name: string) => joined(PLACE, name);
  const criteria = reading.object(at("stickinessCriteria"), given.stickinessCriteria);
  const of = (name: string) => joined(at("stickinessCriteria"), name);
  reading.known(at("stickinessCriteria"), criteria, ["operator", "value"]);
  return {
    display: reading.choice(at("display"), given.display, DISPLAYS) ?? "ActionsBar",
    format:
      reading.choice(at("aggregationAxisFormat"), given.aggregationAxisFormat, FORMATS) ??
      "numeric",
    isCumulative: reading.choice(at("computedAs"), given.computedAs, COMPUTED) === "cumulative",
    criteria: {
      operator: reading.choice(of("operator"), criteria.operator, OPERATORS) ?? "gte",
      value: reading.whole(of("value"), criteria.value, 1, EVENTS_MAX) ?? 1,
    },
  };
}

/** Return the options without default values. */
export function writeOptions(options: StickinessOptions): Given {
  const { operator, value } = options.criteria;
  return present<Given>({
    display: options.display === "ActionsBar" ? undefined : options.display,
    aggregationAxisFormat: options.format === "numeric" ? undefined : options.format,
    computedAs: options.isCumulative ? "cumulative" : undefined,
    stickinessCriteria: operator === "gte" && value === 1 ? undefined : { operator, value },
  });
}

export const optionsOf = ({ options }: Question): StickinessOptions =>
  readOptions(options.stickiness ?? {});

export const withOptions = (question: Question, changes: Partial<StickinessOptions>): Question =>
  withKindOptions(question, "stickiness", writeOptions({ ...optionsOf(question), ...changes }));
