import type { SentencePart } from "@/filters";
import type { Question } from "@/insights/question/model";
import {
  clauses,
  eventParts,
  type Names,
  periodParts,
  testParts,
  text,
  whereParts,
} from "@/insights/question/sentence";
import { words } from "@/words/insightsLifecycle";
import { words as questionWords } from "@/words/insightsQuestion";
import { optionsOf } from "./options";

/** "How many persons who did `viewed` were new, returning, resurrecting or dormant, per day" */
export function lifecycleSentence(question: Question, names: Names): readonly SentencePart[] {
  const [first] = question.series;
  if (first === undefined) return [];
  const { groupTypeIndex: group } = question;
  const { howMany } = words;
  return clauses([
    [
      text(group === undefined ? howMany.persons : howMany.groups(names.groupType(group))),
      ...eventParts(first),
      ...whereParts(first.filters, names),
      text(words.were(optionsOf(question))),
    ],
    [text(questionWords.every[question.interval])],
    periodParts(question),
    whereParts(question.filters, names),
    testParts(question),
  ]);
}
