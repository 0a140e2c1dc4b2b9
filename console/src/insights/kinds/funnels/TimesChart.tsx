import { Histogram, NumbersTable } from "@/charts";
import { formatDuration } from "@/words/format";
import { words } from "@/words/insightsFunnels";
import type { ResultProps } from "../kind";
import { optionsOf } from "./options";
import { numbered, stepName } from "./steps";
import { funnelsTable } from "./table";
import { readBins } from "./times";

/** The distribution of times from one step to another. */
export function TimesChart({ question, answer, isTile, height }: ResultProps) {
  const { bins, average } = readBins(answer.results);
  const { from = 0, to = question.series.length - 1 } = optionsOf(question);
  if (average === null || bins.length === 0)
    return <p className="py-10 text-center text-ink-3">{words.noTimes}</p>;
  const nameOf = (place: number) => numbered(place, stepName(question, place));
  const data = funnelsTable({ question, answer });
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <Histogram
        caption={words.timesCaption(nameOf(from), nameOf(to), formatDuration(average))}
        data={data}
        fileName="time-to-convert"
        bins={bins.map((bin) => ({
          from: bin.from,
          name: words.range(formatDuration(bin.from), formatDuration(bin.to)),
          label: formatDuration(bin.from),
          value: bin.count,
        }))}
        {...(height !== undefined && { height })}
      />
      {!isTile && <NumbersTable caption={words.numbers} data={data} />}
    </div>
  );
}
