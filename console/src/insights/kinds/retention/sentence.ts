import type { SentencePart } from "@/filters";
import type { Question } from "@/insights/question/model";
import {
  breakdownParts,
  clauses,
  code,
  eventParts,
  type Names,
  periodParts,
  testParts,
  text,
  whereParts,
} from "@/insights/question/sentence";
import { plainName } from "@/ui/properties";
import { words } from "@/words/insightsRetention";
import { optionsOf, type RetentionOptions, type Span, spanOf } from "./options";
import { askedOptions, entitiesOf, periodOf, withoutRanges } from "./query";

type Parts = readonly SentencePart[];

/** "How many persons did `signed up`, per week, and how many of them did `paid` in each of the 7 weeks
 * after, last 30 days" */
export function retentionSentence(question: Question, names: Names): Parts {
  const { target, returning } = entitiesOf(question);
  if (target === undefined || returning === undefined) return [];
  const options = askedOptions(optionsOf(question));
  const period = periodOf(question);
  const { groupTypeIndex: group } = question;
  const { howMany } = words;
  return clauses([
    [
      text(group === undefined ? howMany.persons : howMany.groups(names.groupType(group))),
      ...eventParts(target),
      ...whereParts(target.filters, names),
      ...(options.type === "retention_first_time"
        ? [text(words.firstTime)]
        : options.hasWindows
          ? [text(words.firstInPeriod)]
          : []),
    ],
    [text(words.every[period])],
    isOnlyFirst(options)
      ? []
      : [
          text(words.andThen),
          ...eventParts(returning),
          ...whereParts(returning.filters, names),
          ...(options.occurrences > 1 ? [text(words.atLeast(options.occurrences))] : []),
          text(words.ahead(spansOf(options), period, options.isCumulative, options.hasWindows)),
          ...valueParts(options),
        ],
    periodParts(question),
    whereParts(question.filters, names),
    breakdownParts(withoutRanges(question), names),
    testParts(question),
  ]);
}

const isOnlyFirst = ({ intervals, brackets }: RetentionOptions): boolean =>
  intervals === 1 && brackets.length === 0;

/** "and the sum of their `price`" */
function valueParts(options: RetentionOptions): Parts {
  const { aggregation, aggregated } = options;
  if (aggregation === "count" || aggregated === undefined) return [];
  return [text(words.valued[aggregation]), code(plainName(aggregated))];
}

/** The number of intervals, or those that each bracket covers. */
function spansOf(options: RetentionOptions): number | readonly Span[] {
  if (options.brackets.length === 0) return options.intervals - 1;
  return options.brackets.map((_, place) => spanOf(options, place + 1));
}
