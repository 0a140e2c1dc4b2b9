import type { SentencePart } from "@/filters";
import type { Question } from "@/insights/question/model";
import {
  clauses,
  code,
  listed,
  type Names,
  periodParts,
  testParts,
  text,
  whereParts,
} from "@/insights/question/sentence";
import { plainName } from "@/ui/properties";
import { words } from "@/words/insightsPaths";
import { optionsOf, type PathOptions } from "./options";
import { withinParts } from "./within";

type Parts = readonly SentencePart[];

/** "The paths of persons through page views from `/` to `/paid`, 5 steps at most, last 30 days" */
export function pathsSentence(question: Question, names: Names): Parts {
  const options = optionsOf(question);
  const { groupTypeIndex: group } = question;
  const { pathsOf } = words;
  return clauses([
    [
      text(group === undefined ? pathsOf.persons : pathsOf.groups(names.groupType(group))),
      ...typeParts(options),
      ...(options.start === undefined ? [] : [text(words.from), code(options.start)]),
      ...(options.end === undefined ? [] : [text(words.to), code(options.end)]),
    ],
    options.within === undefined ? [] : withinParts(options.within),
    [text(words.atMost(options.steps))],
    periodParts(question),
    whereParts(question.filters, names),
    namesParts(words.without, options.excluded.map(plainName)),
    namesParts(words.groupedBy, options.groupings),
    ...cleaningParts(options),
    ...limitParts(options),
    testParts(question),
  ]);
}

const typeParts = ({ eventTypes }: PathOptions): Parts =>
  eventTypes.length === 0
    ? [text(words.allEvents)]
    : listed(eventTypes.map((type) => [text(words.typesOf[type])]));

const namesParts = (opening: string, names: readonly string[]): Parts =>
  names.length === 0 ? [] : [text(opening), ...listed(names.map((name) => [code(name)]))];

function cleaningParts({ isCleaned, cleaning }: PathOptions): Parts[] {
  const own = cleaning.filter(({ regex }) => regex !== "").length;
  return [isCleaned ? [text(words.byRules)] : [], own > 0 ? [text(words.byOwnRules(own))] : []];
}

const limitParts = ({ edges, least, most }: PathOptions): Parts[] => [
  [text(words.largest(edges))],
  least === undefined ? [] : [text(words.withLeast(least))],
  most === undefined ? [] : [text(words.withMost(most))],
];
