import { type FigureData, intervalName } from "@/charts";
import { words as chartWords } from "@/words/charts";
import { formatDuration } from "@/words/format";
import { words } from "@/words/insightsFunnels";
import type { Asked } from "../kind";
import { readConversions } from "./conversions";
import { optionsOf } from "./options";
import { countedIn, numbered, partsOf, readFunnels, shareOf } from "./steps";
import { readBins } from "./times";

/** The numbers of a funnel: a row for each step, each range of times, or each interval. */
export function funnelsTable(asked: Asked): FigureData {
  const { visualization } = optionsOf(asked.question);
  if (visualization === "time_to_convert") return timesTable(asked);
  return visualization === "trends" ? conversionsTable(asked) : stepsTable(asked);
}

function stepsTable(asked: Asked): FigureData {
  const funnels = readFunnels(asked);
  const isBroken = funnels.some(({ label }) => label !== undefined);
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
  const { bins } = readBins(answer.results);
  return {
    columns: [words.timeColumn, words.fromSeconds, words.toSeconds, countedIn(question)],
    rows: bins.map(({ from, to, count }) => [
      words.range(formatDuration(from), formatDuration(to)),
      ...[from, to, count],
    ]),
  };
}

function conversionsTable(asked: Asked): FigureData {
  const { lines, times, isPartial } = readConversions(asked);
  const { interval } = asked.question;
  return {
    columns: [chartWords.time, ...lines.map(({ name }) => name)],
    rows: times.map((time, index) => {
      const when = intervalName(time, interval, asked.answer.zone);
      const isOpen = isPartial && index === times.length - 1;
      return [
        isOpen ? chartWords.soFar(when) : when,
        ...lines.map(({ values }) => values[index] ?? null),
      ];
    }),
  };
}
