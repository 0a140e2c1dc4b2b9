import type { Question } from "@/insights/question/model";
import { nameOfSeries } from "@/insights/question/seriesName";
import { words as rangeWords } from "@/words/dateRange";
import { words } from "@/words/insightsFunnels";
import { words as questionWords } from "@/words/insightsQuestion";
import type { Asked } from "../kind";
import { canSkip, optionsOf, SESSIONS } from "./options";

/** The breakdown value: a list for properties, an id for a cohort. */
export type Value = string | number | readonly string[];

export interface FunnelStep {
  name: string;
  count: number;
  /** Whether it may be skipped. */
  isOptional: boolean;
  /** Seconds since the required step before; null if no one reached this step. */
  average: number | null;
  median: number | null;
}

/** What tells entries of a result apart: the breakdown value, and the period. */
export interface Part {
  /** Unique within the result. */
  key: string;
  /** The value and the period as text; undefined without a breakdown and a comparison. */
  label: string | undefined;
  /** The value as text, which is the same in both periods. */
  name: string | undefined;
  value: Value | undefined;
  /** Whether it is of the period that is compared with. */
  isPrevious: boolean;
}

/** A funnel, or the funnel of one breakdown value or period. */
export interface Funnel extends Part {
  steps: readonly FunnelStep[];
}

type Entry = Record<string, unknown>;

const isEntry = (one: unknown): one is Entry => typeof one === "object" && one !== null;
const listOf = (given: unknown): unknown[] => (Array.isArray(given) ? given : []);

/** Parse the funnels of a result; the API schema does not describe its entries. */
export function readFunnels({ question, answer }: Asked): Funnel[] {
  const all = listOf(answer.results);
  const ofPeriods = [false, true].map((isLater) =>
    all.filter((one) => isPrevious(one) === isLater),
  );
  const lists = all.some(Array.isArray) ? all.map(listOf) : ofPeriods;
  return lists.flatMap((list): Funnel[] => {
    const steps = list.filter(isEntry);
    const [first] = steps;
    if (first === undefined) return [];
    return [
      {
        ...readPart(first, question),
        steps: steps.map((step, place) =>
          readStep(step, stepName(question, place), isOptional(question, place)),
        ),
      },
    ];
  });
}

const isPrevious = (one: unknown): boolean => isEntry(one) && one.compare_label === "previous";

/** Return the value and the period of an entry of a result. */
export function readPart(entry: Entry, { compare }: Question): Part {
  const value = entry.breakdown_value as Value | undefined;
  const name = value === undefined ? undefined : labelOf(entry.breakdown ?? value);
  const isEarlier = isPrevious(entry);
  return {
    key: JSON.stringify([value ?? null, isEarlier]),
    label: entry.compare_label === undefined ? name : labelOfPeriod(name, isEarlier, compare),
    name,
    value,
    isPrevious: isEarlier,
  };
}

function labelOfPeriod(
  name: string | undefined,
  isEarlier: boolean,
  compare: Question["compare"],
): string {
  if (!isEarlier) return name ?? words.thisPeriod;
  if (name === undefined)
    return typeof compare === "string"
      ? words.earlier(questionWords.distance(compare))
      : words.previousPeriod;
  return typeof compare === "string"
    ? questionWords.earlier(name, compare)
    : rangeWords.previous(name);
}

/** Return the place of an entry of a result. */
export const placeOfPart = ({ value, isPrevious: isEarlier }: Part) => ({
  funnel_step_breakdown: value,
  compare_label: isEarlier ? "previous" : undefined,
});

const readStep = (step: Entry, name: string, isOptional: boolean): FunnelStep => ({
  name,
  isOptional,
  count: Number(step.count),
  average: secondsOf(step.average_conversion_time),
  median: secondsOf(step.median_conversion_time),
});

const secondsOf = (given: unknown): number | null => (typeof given === "number" ? given : null);

/** Return a breakdown value as text; several properties are joined into a list. */
export function labelOf(given: unknown): string {
  const all = Array.isArray(given) ? given.map(String) : [String(given ?? "")];
  return all.map((one) => (one === "" ? words.noValue : one)).join(words.between);
}

const SHOWN_MAX = 80;

/** Return a text shortened to fit on one line. */
export const shortened = (text: string): string =>
  text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX)}…`;

/** The name of a step by its position. In any-order funnels, steps have no names of their own. */
export function stepName(question: Question, place: number): string {
  if (optionsOf(question).order === "unordered") return words.done(place + 1);
  const series = question.series[place];
  if (series === undefined) return words.step(place + 1);
  const name = nameOfSeries(series);
  return isOptional(question, place) ? words.optionalStep(name) : name;
}

const isOptional = (question: Question, place: number): boolean =>
  question.series[place]?.isOptional === true && canSkip(optionsOf(question), place);

/** What is counted, as a column heading. */
export function countedIn(question: Question): string {
  if (question.groupTypeIndex !== undefined) return words.countedGroups;
  const { countedBy } = optionsOf(question);
  if (countedBy === undefined) return words.countedPersons;
  return countedBy === SESSIONS ? words.countedSessions : words.countedValues;
}

export const numbered = (place: number, name: string): string => `${place + 1}. ${name}`;

/** Return a count as a percentage of another, or null if the other is zero. */
export const shareOf = (count: number, all: number): number | null =>
  all === 0 ? null : Math.round((count / all) * 10_000) / 100;

/** Return the place of the required step before a step; itself for the first. */
export function placeBefore(steps: readonly Pick<FunnelStep, "isOptional">[], place: number) {
  const required = steps.slice(0, place).findLastIndex((step) => !step.isOptional);
  return Math.max(required, 0);
}

/** Return how many reached a step, and how many dropped out before it or skipped it. */
export function partsOf({ steps }: Funnel, place: number): { reached: number; dropped: number } {
  const reached = steps[place]?.count ?? 0;
  const before = place === 0 ? reached : (steps[placeBefore(steps, place)]?.count ?? reached);
  return { reached, dropped: before - reached };
}

/** "Dropped out before 2. paid", or "Skipped 2. paid" */
export const droppedName = ({ steps }: Funnel, place: number): string => {
  const step = steps[place];
  const name = numbered(place, step?.name ?? "");
  return step?.isOptional ? words.skipped(name) : words.droppedBefore(name);
};
