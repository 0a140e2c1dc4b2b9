import { counted, formatDuration, formatNumber } from "@/words/format";

const TYPES = {
  $pageview: "page views",
  $screen: "screens",
  custom_event: "own events",
} as const;

export const words = {
  types: "Steps are",
  typeNames: { $pageview: "Page views", $screen: "Screens", custom_event: "Own events" },
  typesHint: "Without a choice all events are steps.",
  start: "Start at",
  end: "End at",
  anyStart: "Any first step",
  anyEnd: "Any last step",
  steps: "Steps at most",
  edges: "Links at most",
  least: "Links with at least",
  most: "Links with at most",
  excluded: "Left out",
  excludedHint: "Events and addresses that are no steps, one per line.",
  groupings: "Grouped",
  groupingsHint: "One pattern per line, in which * is any text: https://example.com/product/*",
  cleaned: "Clean addresses by the project's rules",
  cleaning: "Cleaning rules",
  regex: (place: number) => `Regular expression ${place}`,
  alias: (place: number) => `Replacement ${place}`,
  regexPlaceholder: "Regular expression",
  aliasPlaceholder: "Replaced by",
  addRule: "Add rule",
  removeRule: (place: number) => `Remove rule ${place}`,
  column: (column: number) => `Step ${formatNumber(column)}`,
  other: "Other steps",
  empty: "No path in this period has these steps.",
  ended: (count: number) => `${formatNumber(count)} ended`,
  paths: (count: number) => counted(count, "path", "paths"),
  step: (column: number, name: string, count: number) =>
    `Step ${formatNumber(column)}, ${name}: ${counted(count, "path", "paths")}`,
  stepOf: (column: number) => `Step ${formatNumber(column)},`,
  endOfStep: (column: number, name: string) => `Step ${formatNumber(column)}, ${name}: `,
  endedAt: (column: number, name: string, count: number) =>
    `Step ${formatNumber(column)}, ${name}: ${formatNumber(count)} ended`,
  link: (source: string, target: string, count: number, seconds: number | null) => {
    const text = `${source} → ${target}: ${counted(count, "path", "paths")}`;
    return seconds === null ? text : `${text}, ${formatDuration(seconds)} on average`;
  },
  graph: "Paths, step by step",
  keys: "Arrow keys walk along the paths, enter opens the persons behind a number, t shows the numbers as a table.",
  caption: (range: string) => `Paths, ${range.charAt(0).toLowerCase()}${range.slice(1)}`,
  countsPaths: "Numbers count paths: one person can have several.",
  fromTo: (column: number, source: string, target: string) =>
    `${formatNumber(column)}. ${source} → ${target}`,
  endOf: "(ended)",
  columns: ["Steps", "Paths", "Mean time (s)"],
  reached: (name: string, column: number) => `Reached ${name} as step ${formatNumber(column)}`,
  continued: (name: string) => `Went on from ${name}`,
  endedName: (name: string, column: number) => `Ended at ${name}, step ${formatNumber(column)}`,
  linkName: (source: string, target: string) => `${source} → ${target}`,
  shownEdges: (count: number) =>
    `The ${counted(count, "most frequent link", "most frequent links")}`,
  // The part of a funnel.
  within: "Part of a funnel",
  withinType: "Which part",
  withinStep: "Step of the funnel",
  withinTypes: {
    funnel_path_before_step: "Before",
    funnel_path_between_steps: "Between the step before and",
    funnel_path_after_step: "After",
  },
  reachedStep: (step: number, name: string) => `${formatNumber(step)}. ${name}`,
  droppedStep: (step: number, name: string) => `dropping out before ${formatNumber(step)}. ${name}`,
  leaveFunnel: "Show paths of all persons",
  anyEvent: "any event",
  reaching: {
    funnel_path_before_step: (step: number) => `up to step ${formatNumber(step)},`,
    funnel_path_between_steps: (step: number) =>
      `from the step before to step ${formatNumber(step)},`,
    funnel_path_after_step: (step: number) => `from step ${formatNumber(step)} on,`,
  },
  dropping: {
    funnel_path_before_step: (step: number) =>
      `up to the last step of those who dropped out before step ${formatNumber(step)},`,
    funnel_path_between_steps: (step: number) => `before step ${formatNumber(step)},`,
    funnel_path_after_step: (step: number) =>
      `after the last step of those who dropped out before step ${formatNumber(step)},`,
  },
  ofFunnel: "of the funnel",
  // Parts of the sentence.
  pathsOf: {
    persons: "the paths of persons through",
    groups: (type: string) => `the paths of ${type} groups through`,
  },
  allEvents: "all events",
  typesOf: TYPES,
  from: "from",
  to: "to",
  atMost: (steps: number) => `${counted(steps, "step", "steps")} at most`,
  without: "without",
  groupedBy: "grouped by",
  byRules: "cleaned by the project's rules",
  byOwnRules: (count: number) => `with names cleaned by ${counted(count, "rule", "rules")}`,
  largest: (count: number) => `${counted(count, "most frequent link", "most frequent links")}`,
  withLeast: (count: number) => `links of at least ${counted(count, "path", "paths")}`,
  withMost: (count: number) => `links of at most ${counted(count, "path", "paths")}`,
} as const;
