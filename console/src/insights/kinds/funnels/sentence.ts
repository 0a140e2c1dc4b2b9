import type { SentencePart } from "@/filters";
import type { Question, Series } from "@/insights/question/model";
import {
  breakdownParts,
  clauses,
  compareParts,
  eventParts,
  listed,
  type Names,
  periodParts,
  testParts,
  text,
  whereParts,
} from "@/insights/question/sentence";
import { words } from "@/words/insightsFunnels";
import { words as shared } from "@/words/insightsQuestion";
import { type FunnelOptions, optionsOf, SESSIONS } from "./options";
import { usedParts } from "./query";

type Parts = readonly SentencePart[];

/** "Of the persons who did `seen`, how many then did `paid` and then `stayed`, within 14 days" */
export function funnelsSentence(question: Question, names: Names): Parts {
  const { used, options } = usedParts(question);
  const conditions = whereParts(used.filters, names);
  return clauses([
    askedParts(used, options, names),
    [text(words.within(options.window, options.unit))],
    ...exclusionParts(used, options, names),
    options.visualization === "trends" ? [text(words.everyEntry[used.interval])] : [],
    periodParts(used),
    conditions.length === 0 ? [] : [text(words.countingOnly), ...conditions],
    breakdownParts(used, names),
    used.breakdowns.length === 0 ? [] : [text(attributionText(options))],
    compareParts(used),
    testParts(used),
  ]);
}

function askedParts(question: Question, options: FunnelOptions, names: Names): Parts {
  const { visualization, order } = options;
  const who = whoOf(question, names);
  const steps = question.series.map((one) => stepParts(one, names));
  const from = options.from ?? 0;
  const to = options.to ?? steps.length - 1;
  if (visualization === "time_to_convert")
    return [
      text(words.howLong(who)),
      ...joinedSteps(order, steps.slice(0, to + 1)),
      text(words.tookFrom(from + 1, to + 1)),
    ];
  if (order === "unordered")
    return [
      ...[text(words.ofThoseWhoDidAny(who)), ...listed(steps)],
      text(visualization === "trends" ? words.whatShareAny(from + 1, to + 1) : words.howManyAny),
    ];
  const opening = visualization === "trends" ? words.whatShare : words.howMany;
  const entered = steps.slice(0, from + 1);
  const later = steps.slice(from + 1, to + 1);
  return [
    ...[text(words.ofThoseWhoDid(who)), ...joinedSteps(order, entered), text(shared.comma)],
    ...[text(opening(order === "strict")), ...joinedSteps(order, later)],
  ];
}

const joinedSteps = (order: FunnelOptions["order"], steps: readonly Parts[]): Parts =>
  order === "unordered"
    ? listed(steps)
    : steps.flatMap((step, place) =>
        place === 0 ? step : [text(words.afterThat(order === "strict")), ...step],
      );

const stepParts = (series: Series, names: Names): Parts => [
  ...eventParts(series),
  ...(series.math === "first_matching_event_for_user" ? [text(words.firstAsDescribed)] : []),
  ...(series.math === "first_time_for_user" ? [text(words.firstEver)] : []),
  ...whereParts(series.filters, names),
  ...(series.isOptional ? [text(words.maybeSkipped)] : []),
];

function whoOf(question: Question, names: Names): string {
  const { groupTypeIndex } = question;
  if (groupTypeIndex !== undefined) return words.groups(names.groupType(groupTypeIndex));
  const { countedBy } = optionsOf(question);
  if (countedBy === undefined) return words.persons;
  return countedBy === SESSIONS ? words.sessions : words.valuesOf(countedBy);
}

function exclusionParts(question: Question, options: FunnelOptions, names: Names): Parts[] {
  const who = whoOf(question, names);
  return options.exclusions.map(({ entity, from, to }) => [
    text(words.withoutThose(who)),
    ...stepParts({ ...entity, math: "total" }, names),
    text(words.betweenSteps(from + 1, to + 1)),
  ]);
}

function attributionText({ attribution, attributionStep }: FunnelOptions): string {
  if (attribution === "step") return words.attributedTo(attributionStep + 1);
  return words.attributed[attribution];
}
