import { INTERVALS } from "@/insights/question/address";
import { isOfProperty } from "@/insights/question/maths";
import { BREAKDOWNS_MAX, letterOf, type Question } from "@/insights/question/model";
import { words } from "@/words/insightsTrends";
import type { Asked, Kind, Uses } from "../kind";
import { behindTrend } from "./behind";
import { readLines } from "./lines";
import { isOfTotals, optionsOf, readOptions } from "./options";
import { QUERY_KIND, readTrendsQuery, trendsQuery } from "./query";
import { trendsSentence } from "./sentence";
import { TrendsResult } from "./TrendsResult";
import { TrendsView } from "./TrendsView";
import { trendsTable } from "./table";

const SERIES_MAX = 26;

export const kind: Kind = {
  name: "trends",
  queryKind: QUERY_KIND,
  uses: usesOf,
  check: ({ options }, reading) => void readOptions(options.trends ?? {}, reading),
  query: trendsQuery,
  read: readTrendsQuery,
  sentence: trendsSentence,
  missing,
  View: TrendsView,
  Result: TrendsResult,
  table: trendsTable,
  note,
  behind: behindTrend,
};

function usesOf(question: Question): Uses {
  return {
    series: {
      least: 1,
      most: SERIES_MAX,
      hasMath: true,
      title: words.series,
      one: words.series,
      mark: letterOf,
    },
    breakdowns: BREAKDOWNS_MAX,
    intervals: isOfTotals(optionsOf(question).display) ? [] : INTERVALS,
    compares: true,
  };
}

function missing({ series }: Question): string | null {
  if (series.length === 0) return words.noSeries;
  const without = series.findIndex(
    ({ math, mathProperty }) => isOfProperty(math) && mathProperty === undefined,
  );
  return without < 0 ? null : words.noProperty(letterOf(without));
}

function note({ question, answer }: Asked): string | null {
  if (question.breakdowns.length === 0 || answer.beside.hasMore !== true) return null;
  const values = readLines(answer.results).filter((line) => !line.isPrevious && line.order === 0);
  return words.shownOthers(values.length - 1);
}
