import type { SentencePart } from "@/filters";
import { letterOf, type Question } from "@/insights/question/model";
import {
  breakdownParts,
  clauses,
  code,
  compareParts,
  listed,
  measureParts,
  type Names,
  periodParts,
  testParts,
  text,
  whereParts,
} from "@/insights/question/sentence";
import { words as shared } from "@/words/insightsQuestion";
import { words } from "@/words/insightsTrends";
import { words as weekWords } from "@/words/insightsWeek";
import { canCompare, isOfTotals, isOfWeek, optionsOf, usualLimit } from "./options";
import { shownQuestion } from "./shown";

type Parts = readonly SentencePart[];

/** "How often `signed up` happened, per day, last 30 days, without test accounts" */
export function trendsSentence(asked: Question, names: Names): Parts {
  const question = shownQuestion(asked);
  const options = optionsOf(question);
  const every = isOfTotals(options.display)
    ? shared.inAll
    : isOfWeek(options.display)
      ? weekWords.everyHour
      : shared.every[question.interval];
  return clauses([
    countedParts(question, names),
    [
      text(every),
      ...(options.display === "ActionsLineGraphCumulative" ? [text(words.summedUp)] : []),
    ],
    options.smoothing > 1 && !isOfTotals(options.display)
      ? [text(words.averagedOver(options.smoothing))]
      : [],
    periodParts(question),
    whereParts(question.filters, names),
    breakdownParts(
      { ...question, breakdownLimit: question.breakdownLimit ?? usualLimit(options.display) },
      names,
    ),
    canCompare(options.display) ? compareParts(question) : [],
    testParts(question),
  ]);
}

function countedParts(question: Question, names: Names): Parts {
  const { formulas } = optionsOf(question);
  const series = question.series.map((one) => measureParts(one, names));
  if (formulas.length === 0) return listed(series);
  const lettered = series.map((parts, place) => [code(letterOf(place)), text(words.is), ...parts]);
  return [
    ...listed(formulas.map((one) => [code(one.text)])),
    text(shared.comma),
    text(words.inWhich),
    ...listed(lettered),
  ];
}
