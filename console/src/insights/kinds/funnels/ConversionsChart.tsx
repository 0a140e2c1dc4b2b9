import { useMemo } from "react";
import {
  captionOf,
  colorsByValue,
  inReach,
  NumbersTable,
  type Point,
  type Series,
  TimeSeries,
} from "@/charts";
import { formatShare } from "@/words/format";
import { words } from "@/words/insightsFunnels";
import type { ResultProps } from "../kind";
import { placeOfConversion } from "./behind";
import { type Conversion, numberAt, readConversions, shareAt } from "./conversions";
import { conversionsTable } from "./table";

const HEIGHT = 300;
// Columns of the table whose numbers open the persons behind them.
const CONVERTED = 2;
const DROPPED = 3;

function seriesOf(lines: readonly Conversion[], count: number): Series[] {
  const colors = colorsByValue([...new Set(lines.flatMap(({ name }) => name ?? []))]);
  return lines.map((line) => {
    const color = line.name === undefined ? 2 : colors.get(line.name);
    return {
      key: line.key,
      name: line.label ?? words.converted,
      isPrevious: line.isPrevious,
      values: Array.from({ length: count }, (_, index) => shareAt(line, index)),
      ...(color !== undefined && { color }),
    };
  });
}

/** The conversion rate by the time people entered the funnel. */
export function ConversionsChart(props: ResultProps) {
  const { question, answer, isTile, height = HEIGHT, onOpen } = props;
  const { lines, times, isPartial } = useMemo(
    () => readConversions({ question, answer }),
    [question, answer],
  );
  const series = useMemo(() => seriesOf(lines, times.length), [lines, times]);
  const thresholds = useMemo(() => inReach(props.thresholds, series), [props.thresholds, series]);
  const { interval } = question;
  const { zone } = answer;
  const data = conversionsTable({ question, answer });
  const open = (place: number, index: number, isDropped: boolean) => {
    const line = lines[place];
    if (line !== undefined && numberAt(line, index, isDropped) > 0)
      onOpen?.(placeOfConversion(line, index, isDropped));
  };
  const openNumber =
    onOpen &&
    ((row: number, column: number) =>
      open(row % lines.length, Math.floor(row / lines.length), column === DROPPED));
  const canOpenColumn = (column: number) => column === CONVERTED || column === DROPPED;
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <TimeSeries
        caption={captionOf(words.shareCaption, times, interval, { zone, isPartial })}
        times={times}
        series={series}
        thresholds={thresholds}
        interval={interval}
        zone={zone}
        isPartial={isPartial}
        fileName="conversion"
        data={data}
        onOpenNumber={openNumber}
        canOpenColumn={canOpenColumn}
        format={formatShare}
        height={height}
        {...(onOpen && {
          onOpen: ({ index, series }: Point) =>
            open(
              lines.findIndex(({ key }) => key === series.key),
              index,
              false,
            ),
        })}
      />
      {!isTile && (
        <NumbersTable
          caption={words.numbers}
          data={data}
          onOpen={openNumber}
          canOpenColumn={canOpenColumn}
        />
      )}
    </div>
  );
}
