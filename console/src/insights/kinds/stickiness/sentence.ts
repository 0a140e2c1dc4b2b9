import type { SentencePart } from "@/filters";
import type { Question } from "@/insights/question/model";
import {
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
import { words } from "@/words/insightsStickiness";
import { optionsOf } from "./options";
import { SERIES_MAX } from "./query";

type Parts = readonly SentencePart[];

/** "How many persons did `viewed`, on exactly 1, 2, 3 and so on days, last 30 days" */
export function stickinessSentence(question: Question, names: Names): Parts {
  const { criteria, isCumulative } = optionsOf(question);
  const { groupTypeIndex: group, interval } = question;
  const { howMany } = words;
  const opening = group === undefined ? howMany.persons : howMany.groups(names.groupType(group));
  const series = question.series
    .slice(0, SERIES_MAX)
    .map((one) => [text(opening), ...eventParts(one), ...whereParts(one.filters, names)]);
  const isUsual = criteria.operator === "gte" && criteria.value === 1;
  return clauses([
    listed(series),
    [
      text(words.byNumber(interval, isCumulative)),
      ...(isUsual ? [] : [text(words.timesEach(criteria.operator, criteria.value, interval))]),
    ],
    periodParts(question),
    whereParts(question.filters, names),
    compareParts(question),
    testParts(question),
  ]);
}
