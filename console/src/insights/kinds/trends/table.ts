import { type FigureData, intervalName } from "@/charts";
import { words as chartWords } from "@/words/charts";
import { words as rangeWords } from "@/words/dateRange";
import { words as questionWords } from "@/words/insightsQuestion";
import { words } from "@/words/insightsTrends";
import type { Asked } from "../kind";
import { beginOf, daysOf, isPartial, type Line, linesOf } from "./lines";
import { isOfTotals, isOfWeek, optionsOf } from "./options";
import { weekTable } from "./week";

export function nameOfLine({ name, isPrevious, compare }: Line): string {
  if (!isPrevious) return name;
  return compare === true ? rangeWords.previous(name) : questionWords.earlier(name, compare);
}

/** The numbers of a trend: one row per interval, or per series if there are no intervals. */
export function trendsTable({ question, answer }: Asked): FigureData {
  if (isOfWeek(optionsOf(question).display)) return weekTable({ question, answer });
  const lines = linesOf({ question, answer });
  if (isOfTotals(optionsOf(question).display))
    return {
      columns: [words.name, words.total],
      rows: lines.map((line) => [nameOfLine(line), line.total ?? 0]),
    };
  const days = daysOf(lines);
  const whenOf = (index: number) => {
    const name = intervalName(
      beginOf(days[index] ?? "", answer.zone),
      question.interval,
      answer.zone,
    );
    return isPartial(lines) && index === days.length - 1 ? chartWords.soFar(name) : name;
  };
  return {
    columns: [chartWords.time, ...lines.map(nameOfLine)],
    rows: days.map((_, index) => [
      whenOf(index),
      ...lines.map((line) => line.values[index] ?? null),
    ]),
  };
}
