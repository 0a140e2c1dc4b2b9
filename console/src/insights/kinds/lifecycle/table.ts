import { type FigureData, intervalName } from "@/charts";
import { words as chartWords } from "@/words/charts";
import { words } from "@/words/insightsLifecycle";
import type { Asked } from "../kind";
import { readLifecycle } from "./layers";
import { optionsOf } from "./options";

/** The numbers of a life cycle: one row per interval. */
export function lifecycleTable({ question, answer }: Asked): FigureData {
  const { interval } = question;
  const { begins, layers, isPartial } = readLifecycle(answer, interval, optionsOf(question));
  const nameOf = (begin: Date, place: number) => {
    const name = intervalName(begin, interval, answer.zone);
    return isPartial && place === begins.length - 1 ? chartWords.soFar(name) : name;
  };
  return {
    columns: [chartWords.time, ...layers.map(({ status }) => words.statuses[status])],
    rows: begins.map((begin, place) => [
      nameOf(begin, place),
      ...layers.map(({ counts }) => counts[place] ?? null),
    ]),
  };
}
