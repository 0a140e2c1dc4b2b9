import { type FigureData, intervalName } from "@/charts";
import { beginOf } from "@/insights/kinds/trends/lines";
import { words as chartWords } from "@/words/charts";
import { formatDuration } from "@/words/format";
import { words } from "@/words/insightsFunnels";
import type { Asked } from "../kind";
import { numberAt, readConversions, shareAt } from "./conversions";
import { optionsOf } from "./options";
import { countedIn, type Funnel, numbered, partsOf, readFunnels, shareOf } from "./steps";
import { readTimes } from "./times";

/** The numbers of a funnel: one row per step, time range or interval. */
export function funnelsTable(asked: Asked): FigureData {
  const { visualization } = optionsOf(asked.question);
  if (visualization === "time_to_convert") return timesTable(asked);
  return visualization === "trends" ? conversionsTable(asked) : stepsTable(asked);
}

const isBrokenDown = (funnels: readonly Funnel[]): boolean =>
  funnels.some(({ label }) => label !== undefined);

/** The columns for those who reached a step and those who dropped out before it. */
export const columnsOfSteps = (funnels: readonly Funnel[]) =>
  isBrokenDown(funnels) ? { reached: 2, dropped: 5 } : { reached: 1, dropped: 4 };

function stepsTable(asked: Asked): FigureData {
  const funnels = readFunnels(asked);
  const isBroken = isBrokenDown(funnels);
  const columns = [
    ...[words.stepColumn, countedIn(asked.question), words.ofPrevious, words.ofFirst],
    ...[words.droppedOut, words.average, words.median],
  ];
  const rows = funnels.flatMap((funnel) =>
    funnel.steps.map((step, place) => {
      const { reached, dropped } = partsOf(funnel, place);
      const isFirst = place === 0;
      return [
        ...(isBroken ? [funnel.label ?? ""] : []),
        ...[numbered(place, step.name), reached],
        isFirst ? null : shareOf(reached, reached + dropped),
        shareOf(reached, funnel.steps[0]?.count ?? 0),
        ...[isFirst ? null : dropped, step.average, step.median],
      ];
    }),
  );
  return { columns: isBroken ? [words.value, ...columns] : columns, rows };
}

function timesTable({ question, answer }: Asked): FigureData {
  const all = readTimes({ question, answer });
  const isBroken = all.some(({ label }) => label !== undefined);
  const columns = [words.timeColumn, words.fromSeconds, words.toSeconds, countedIn(question)];
  return {
    columns: isBroken ? [words.value, ...columns] : columns,
    rows: all.flatMap(({ label, bins }) =>
      bins.map(({ from, to, count }) => [
        ...(isBroken ? [label ?? ""] : []),
        words.range(formatDuration(from), formatDuration(to)),
        ...[from, to, count],
      ]),
    ),
  };
}

/** One row per interval and breakdown value. */
export function conversionsTable(asked: Asked): FigureData {
  const { lines, times, isPartial } = readConversions(asked);
  const { interval } = asked.question;
  const { zone } = asked.answer;
  const isBroken = lines.some(({ label }) => label !== undefined);
  const columns = [chartWords.time, words.entered, words.converted, words.notConverted];
  return {
    columns: [...columns, words.convertedShare, ...(isBroken ? [words.value] : [])],
    rows: times.flatMap((time, index) => {
      const isOpen = isPartial && index === times.length - 1;
      return lines.map((line) => {
        const own = line.isPrevious ? beginOf(line.days[index] ?? "", zone) : time;
        const when = intervalName(own, interval, zone);
        return [
          ...[isOpen && !line.isPrevious ? chartWords.soFar(when) : when],
          ...[line.entered[index] ?? null, numberAt(line, index, false)],
          ...[numberAt(line, index, true), shareAt(line, index)],
          ...(isBroken ? [line.label ?? ""] : []),
        ];
      });
    }),
  };
}
