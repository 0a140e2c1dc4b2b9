import { useMemo } from "react";
import { Bars, captionOf, colorsByValue, type Point, type Series, TimeSeries } from "@/charts";
import { words as questionWords } from "@/words/insightsQuestion";
import type { ResultProps } from "../kind";
import { canOpen, placeOf } from "./behind";
import { beginOf, daysOf, isPartial, type Line, readLines } from "./lines";
import { optionsOf } from "./options";
import { nameOfLine } from "./table";

const HEIGHT = 300;

/** The chart of a trend. */
export function TrendsResult({ question, answer, onOpen, height = HEIGHT }: ResultProps) {
  const { display } = optionsOf(question);
  const lines = useMemo(() => readLines(answer.results), [answer.results]);
  const times = useMemo(
    () => daysOf(lines).map((day) => beginOf(day, answer.zone)),
    [lines, answer.zone],
  );
  const series = useMemo(() => seriesOfLines(lines), [lines]);
  const { interval } = question;
  const partial = isPartial(lines);
  const open = ({ index, series: one }: Point) => {
    const line = lines.find(({ key }) => key === one.key);
    if (line !== undefined && canOpen(line)) onOpen?.(placeOf(line, line.days[index]));
  };
  const what = [...new Set(lines.map(({ name }) => name))].slice(0, NAMED).join(", ");
  const chart = {
    caption: captionOf(what || questionWords.allEvents, times, interval, {
      zone: answer.zone,
      isPartial: partial,
    }),
    times,
    series,
    interval,
    zone: answer.zone,
    isPartial: partial,
    fileName: "trend",
    height,
    ...(onOpen !== undefined && lines.some(canOpen) && { onOpen: open }),
  };
  return display === "ActionsBar" ? <Bars {...chart} /> : <TimeSeries {...chart} />;
}

// Names in a caption.
const NAMED = 3;

/** Values of a breakdown have a colour of their own; a line and its previous period share one. */
function seriesOfLines(lines: readonly Line[]): Series[] {
  const isBroken = lines.some(({ value }) => value !== undefined);
  const colors = colorsByValue(lines.map(({ name }) => name));
  const places = [...new Set(lines.map(({ name }) => name))];
  return lines.map((line) => {
    const color = isBroken
      ? colors.get(line.name)
      : (((places.indexOf(line.name) % 10) + 1) as NonNullable<Series["color"]>);
    return {
      key: line.key,
      name: nameOfLine(line),
      values: line.values,
      isPrevious: line.isPrevious,
      ...(color !== undefined && { color }),
    };
  });
}
