import { withKindOptions } from "@/insights/question/kindOptions";
import type { Question } from "@/insights/question/model";
import { isObject, joined, Reading } from "@/insights/question/reading";
import { type Given, present } from "@/lib/searchParams";
import { PART, readWithin, type WithinFunnel, writeWithin } from "./within";

// Limits of the server. source: fanion/insights/paths/query.py
export const EVENT_TYPES = ["$pageview", "$screen", "custom_event"] as const;
export type EventType = (typeof EVENT_TYPES)[number];
export const STEPS_MAX = 20;
export const EDGES_MAX = 1_000;
export const WEIGHT_MAX = 1_000_000_000;
export const PLACE = "pathsFilter";

const USUAL_STEPS = 5;
const USUAL_EDGES = 50;

/** A regular expression and the replacement for its matches. */
export interface Cleaning {
  regex: string;
  alias: string;
}

/** How paths are built and which are shown, by API names. */
export interface PathOptions {
  /** Empty: all events are steps. */
  eventTypes: readonly EventType[];
  start?: string;
  end?: string;
  steps: number;
  edges: number;
  least?: number;
  most?: number;
  excluded: readonly string[];
  groupings: readonly string[];
  /** Whether the project's rules also clean paths. */
  isCleaned: boolean;
  cleaning: readonly Cleaning[];
  within?: WithinFunnel;
}

const NAMES = [
  ...["includeEventTypes", "startPoint", "endPoint", "stepLimit", "edgeLimit", "minEdgeWeight"],
  ...["maxEdgeWeight", "excludeEvents", "pathGroupings", "pathReplacements"],
  ...["localPathCleaningFilters", PART],
];
// Display options of other clients, ignored here.
const DRAWN = ["showFullUrls"];

/** Return the options of a `pathsFilter`. */
export function readOptions(given: Given, reading: Reading = new Reading()): PathOptions {
  reading.known(PLACE, given, [...NAMES, ...DRAWN]);
  const at = (name: string) => joined(PLACE, name);
  const texts = (name: string) =>
    reading.list(at(name), given[name]).flatMap((one) => reading.text(at(name), one) ?? []);
  const whole = (name: string, least: number, most: number) =>
    reading.whole(at(name), given[name], least, most);
  const types = texts("includeEventTypes").flatMap(
    (one) => reading.choice(at("includeEventTypes"), one, EVENT_TYPES) ?? [],
  );
  return present<PathOptions>({
    eventTypes: EVENT_TYPES.filter((one) => types.includes(one)),
    start: reading.text(at("startPoint"), given.startPoint),
    end: reading.text(at("endPoint"), given.endPoint),
    steps: whole("stepLimit", 1, STEPS_MAX) ?? USUAL_STEPS,
    edges: whole("edgeLimit", 1, EDGES_MAX) ?? USUAL_EDGES,
    least: whole("minEdgeWeight", 0, WEIGHT_MAX),
    most: whole("maxEdgeWeight", 0, WEIGHT_MAX),
    excluded: texts("excludeEvents"),
    groupings: texts("pathGroupings"),
    isCleaned: reading.flag(at("pathReplacements"), given.pathReplacements) ?? false,
    cleaning: readCleaning(reading, at("localPathCleaningFilters"), given.localPathCleaningFilters),
    within: readWithin(reading, given[PART]),
  });
}

function readCleaning(reading: Reading, place: string, given: unknown): Cleaning[] {
  return reading.list(place, given).flatMap((one) => {
    if (!isObject(one)) return reading.refuse(place, one) ?? [];
    const { regex, alias } = one;
    return [{ regex: String(regex ?? ""), alias: String(alias ?? "") }];
  });
}

/** Return the options without default values. */
export function writeOptions(options: PathOptions): Given {
  const listed = <T>(list: readonly T[]) => (list.length === 0 ? undefined : list);
  return present<Given>({
    includeEventTypes: listed(options.eventTypes),
    startPoint: options.start,
    endPoint: options.end,
    stepLimit: options.steps === USUAL_STEPS ? undefined : options.steps,
    edgeLimit: options.edges === USUAL_EDGES ? undefined : options.edges,
    minEdgeWeight: options.least,
    maxEdgeWeight: options.most,
    excludeEvents: listed(options.excluded),
    pathGroupings: listed(options.groupings),
    pathReplacements: options.isCleaned || undefined,
    localPathCleaningFilters: listed(options.cleaning),
    [PART]: options.within && writeWithin(options.within),
  });
}

export const optionsOf = ({ options }: Question): PathOptions => readOptions(options.paths ?? {});

/** The changes; undefined removes an option. */
export type Changes = { [K in keyof PathOptions]?: PathOptions[K] | undefined };

export const withOptions = (question: Question, changes: Changes): Question =>
  withKindOptions(
    question,
    "paths",
    writeOptions(present<PathOptions>({ ...optionsOf(question), ...changes } as PathOptions)),
  );
