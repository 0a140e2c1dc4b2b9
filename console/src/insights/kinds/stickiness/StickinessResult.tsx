import { Categories, type SeriesColor } from "@/charts";
import { formatNumber, formatShare } from "@/words/format";
import { words } from "@/words/insightsStickiness";
import type { ResultProps } from "../kind";
import { placeOf } from "./behind";
import { readLines, shownValue } from "./lines";
import { optionsOf } from "./options";
import { stickinessTable } from "./table";

// Names in a caption.
const NAMED = 3;

/** How many persons were active in one interval, in two, and so on. */
export function StickinessResult({ question, answer, onOpen, height }: ResultProps) {
  const options = optionsOf(question);
  const lines = readLines(question, answer);
  const data = stickinessTable({ question, answer });
  const now = lines.filter(({ isPrevious }) => !isPrevious);
  const named = now.slice(0, NAMED).map(({ name }) => name);
  return (
    <Categories
      caption={words.caption(named.join(", "), question.interval)}
      fileName="stickiness"
      categories={data.rows.map(([name], place) => ({
        name: String(name),
        short: formatNumber(place + 1),
      }))}
      series={lines.map((line) => ({
        key: line.key,
        name: line.name,
        values: line.counts.map((_, place) => shownValue(line, place, options)),
        isPrevious: line.isPrevious,
        color: ((line.order % 10) + 1) as SeriesColor,
      }))}
      form={options.display === "ActionsBar" ? "grouped" : "lines"}
      format={options.format === "percentage" ? formatShare : formatNumber}
      data={data}
      {...(height !== undefined && { height })}
      {...(onOpen !== undefined && {
        onOpen: (index, { key }) => {
          const line = lines.find((one) => one.key === key);
          if (line !== undefined) onOpen(placeOf(line, index));
        },
      })}
    />
  );
}
