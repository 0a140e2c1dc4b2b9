import { INTERVALS } from "@/insights/question/address";
import { needsProperty } from "@/insights/question/maths";
import { BREAKDOWNS_MAX, letterOf, type Question } from "@/insights/question/model";
import { namesOfSeries } from "@/insights/question/seriesName";
import { words } from "@/words/insightsTrends";
import type { Kind, Uses } from "../kind";
import { behindTrend } from "./behind";
import { canCompare, hasIntervals, isOfWeek, optionsOf, readOptions, usualLimit } from "./options";
import { readTrendsQuery, trendsQuery } from "./query";
import { trendsSentence } from "./sentence";
import { shownQuestion } from "./shown";
import { TrendsFields } from "./TrendsFields";
import { TrendsResult } from "./TrendsResult";
import { TrendsView } from "./TrendsView";
import { trendsTable } from "./table";

const SERIES_MAX = 26;

export const kind: Kind = {
  name: "trends",
  uses: usesOf,
  check: ({ options }, reading) => void readOptions(options.trends ?? {}, reading),
  query: trendsQuery,
  read: readTrendsQuery,
  sentence: trendsSentence,
  missing,
  Fields: TrendsFields,
  View: TrendsView,
  Result: TrendsResult,
  table: trendsTable,
  brokenDown,
  behind: behindTrend,
};

function usesOf(question: Question): Uses {
  const { display } = optionsOf(question);
  return {
    series: {
      least: 1,
      most: isOfWeek(display) ? 1 : SERIES_MAX,
      hasMath: true,
      title: words.series,
      one: words.series,
      mark: letterOf,
    },
    breakdowns: isOfWeek(display) ? 0 : BREAKDOWNS_MAX,
    usualLimit: usualLimit(display),
    intervals: hasIntervals(display) ? INTERVALS : [],
    compares: canCompare(display),
  };
}

function missing(asked: Question): string | null {
  const question = shownQuestion(asked);
  const { series } = question;
  if (series.length === 0) return words.noSeries;
  const without = series.findIndex(
    ({ math, mathProperty }) => needsProperty(math) && mathProperty === undefined,
  );
  if (without >= 0) return words.noProperty(letterOf(without));
  const isBlank = optionsOf(question).formulas.some(({ text }) => text.trim() === "");
  return isBlank ? words.noFormula : null;
}

function brokenDown(question: Question): readonly string[] {
  const { formulas } = optionsOf(question);
  if (formulas.length === 0) return namesOfSeries(question.series);
  return formulas.map(({ text, name }) => name ?? text);
}
