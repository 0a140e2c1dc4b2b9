import { ChartAnnotations, notesOf, useAnnotations } from "@/annotations";
import { axisName, Categories, captionOf, type SeriesColor } from "@/charts";
import { nameOfSeries } from "@/insights/question/seriesName";
import { words } from "@/words/insightsLifecycle";
import type { ResultProps } from "../kind";
import { readLifecycle } from "./layers";
import { optionsOf, type Status } from "./options";
import { lifecycleTable } from "./table";

const COLORS: Record<Status, SeriesColor> = { new: 2, returning: 3, resurrecting: 4, dormant: 1 };

/** A life cycle: new, returning and resurrecting persons above zero, dormant ones below. */
export function LifecycleResult({ question, answer, isTile, onOpen, height }: ResultProps) {
  const { interval, groupTypeIndex } = question;
  const shown = optionsOf(question);
  const { begins, layers, isPartial } = readLifecycle(answer, interval, shown);
  const annotations = useAnnotations(begins);
  const notes = notesOf(annotations, begins);
  const data = lifecycleTable({ question, answer });
  const [first] = question.series;
  const what = first === undefined ? "" : nameOfSeries(first);
  const caption = groupTypeIndex === undefined ? words.caption : words.captionOfGroups;
  const chart = (
    <Categories
      caption={captionOf(caption(what), begins, interval, { zone: answer.zone, isPartial })}
      fileName="life-cycle"
      categories={data.rows.map(([name], place) => ({
        name: String(name),
        short: axisName(begins[place] ?? new Date(0), interval, answer.zone),
        notes: notes[place] ?? [],
      }))}
      series={layers.map(({ status, counts }) => ({
        key: status,
        name: words.statuses[status],
        values: counts,
        color: COLORS[status],
      }))}
      form="stacked"
      isPartial={isPartial}
      data={data}
      {...(height !== undefined && { height })}
      {...(!isTile && { note: <Hints shown={shown} /> })}
      {...(onOpen !== undefined && {
        onOpen: (index, { key }) => {
          const place = layers.find(({ status }) => status === key)?.places[index];
          if (place !== undefined) onOpen(place);
        },
      })}
    />
  );
  if (isTile) return chart;
  return (
    <div className="flex min-w-0 flex-col gap-4">
      {chart}
      <ChartAnnotations
        annotations={annotations}
        at={begins.at(-1) ?? new Date()}
        zone={answer.zone}
      />
    </div>
  );
}

function Hints({ shown }: { shown: readonly Status[] }) {
  return (
    <ul className="flex flex-wrap gap-x-5">
      {shown.map((status) => (
        <li key={status}>{words.hint(words.statuses[status], words.hints[status])}</li>
      ))}
    </ul>
  );
}
