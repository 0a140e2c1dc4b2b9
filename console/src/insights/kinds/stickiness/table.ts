import type { FigureData } from "@/charts";
import { words } from "@/words/insightsStickiness";
import type { Asked } from "../kind";
import { readLines, shownValue } from "./lines";
import { optionsOf } from "./options";

/** The numbers of stickiness: one row per number of intervals. */
export function stickinessTable({ question, answer }: Asked): FigureData {
  const options = optionsOf(question);
  const lines = readLines(question, answer);
  const length = Math.max(0, ...lines.map(({ counts }) => counts.length));
  return {
    columns: [
      words.units[question.interval],
      ...lines.map(({ name }) => (options.format === "percentage" ? words.inPercent(name) : name)),
    ],
    rows: Array.from({ length }, (_, place) => [
      words.number(place + 1, question.interval, options.isCumulative),
      ...lines.map((line) => shownValue(line, place, options)),
    ]),
  };
}
