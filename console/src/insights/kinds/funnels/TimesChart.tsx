import { Histogram, NumbersTable } from "@/charts";
import { formatDuration, formatNumber } from "@/words/format";
import { words } from "@/words/insightsFunnels";
import type { ResultProps } from "../kind";
import { optionsOf } from "./options";
import { numbered, shortened, stepName } from "./steps";
import { funnelsTable } from "./table";
import { readTimes, type Times } from "./times";

/** The most distributions that are drawn; the table has all. */
const DRAWN_MAX = 6;
/** The height of one of several. */
const SMALL = 140;

/** The distribution of times from one step to another, for each breakdown value and period. */
export function TimesChart({ question, answer, isTile, height }: ResultProps) {
  const converted = readTimes({ question, answer }).filter(
    ({ bins, average }) => average !== null && bins.length > 0,
  );
  const { from = 0, to = question.series.length - 1 } = optionsOf(question);
  if (converted.length === 0)
    return <p className="py-10 text-center text-ink-3">{words.noTimes}</p>;
  const nameOf = (place: number) => numbered(place, stepName(question, place));
  const data = funnelsTable({ question, answer });
  const captionOf = ({ label, average, median }: Times) => {
    const caption = words.timesCaption(nameOf(from), nameOf(to), formatDuration(average ?? 0));
    const whole =
      median === null
        ? caption
        : words.withMedian(caption, words.medianTime(formatDuration(median)));
    return label === undefined ? whole : words.ofEntry(shortened(label), whole);
  };
  return (
    <div className="flex min-w-0 flex-col gap-4">
      {converted.slice(0, DRAWN_MAX).map((one) => (
        <Histogram
          key={one.key}
          caption={captionOf(one)}
          data={data}
          fileName="time-to-convert"
          bins={one.bins.map((bin) => ({
            from: bin.from,
            name: words.range(formatDuration(bin.from), formatDuration(bin.to)),
            label: formatDuration(bin.from),
            value: bin.count,
          }))}
          {...(height !== undefined && { height: height / Math.min(converted.length, DRAWN_MAX) })}
          {...(height === undefined && converted.length > 1 && { height: SMALL })}
        />
      ))}
      {converted.length > DRAWN_MAX && (
        <p className="text-ink-2 text-sm">
          {words.drawn(formatNumber(DRAWN_MAX), formatNumber(converted.length))}
        </p>
      )}
      {!isTile && <NumbersTable caption={words.numbers} data={data} />}
    </div>
  );
}
