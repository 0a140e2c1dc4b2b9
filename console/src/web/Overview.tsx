import { usePrefetchQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { useProjectId } from "@/app/session";
import { LazyPlot } from "@/charts/LazyPlot";
import { classes } from "@/ui/classes";
import { Failed, Skeleton } from "@/ui/States";
import { words } from "@/words/web";
import { Age } from "./Age";
import { Change } from "./Change";
import { Chart, useChartQuestion } from "./Chart";
import { canBeDrawn, type Figure, type FigureName, readFigures } from "./figures";
import { formatValue } from "./numbers";
import { overviewOf, webQuery } from "./queries";
import type { View } from "./view";

/** The figures for the period, with one of them charted over time. */
export function Overview({ view }: { view: View }) {
  const overview = useQuery(webQuery(useProjectId(), overviewOf(view.common)));
  // Ask for the chart together with the figures, not after them.
  usePrefetchQuery(useChartQuestion(view, view.search.figure ?? "visitors").query);
  const queries = useQueryClient();
  useEffect(() => void LazyPlot.load(queries), [queries]);
  if (overview.data === undefined) {
    return (
      <section aria-label={words.overview} className={classes(BOX, LOADING)}>
        <div className="p-4">
          {overview.isError ? (
            <Failed error={overview.error} onRetry={() => void overview.refetch()} />
          ) : (
            <Skeleton rows={11} className="max-sm:min-h-[34rem]" />
          )}
        </div>
      </section>
    );
  }
  const figures = readFigures(overview.data.results);
  const drawn = figures.find((one) => one.name === view.search.figure) ?? figures[0];
  const isBehind = overview.isPlaceholderData;
  return (
    <section aria-label={words.overview} className={BOX} aria-busy={isBehind}>
      <ul className="grid grid-cols-2 gap-px overflow-hidden rounded-t-lg border-line border-b bg-line sm:flex">
        {figures.map((figure) => (
          <li
            key={figure.name}
            className={classes(
              "min-w-0 flex-1 bg-panel max-sm:last:odd:col-span-2",
              isBehind && "opacity-60",
            )}
          >
            <FigureButton
              figure={figure}
              isDrawn={figure === drawn}
              onDraw={(name) => view.change({ figure: name === "visitors" ? undefined : name })}
            />
          </li>
        ))}
      </ul>
      <div className="px-4 pt-3 pb-3">
        {overview.isError && (
          <Failed error={overview.error} onRetry={() => void overview.refetch()} />
        )}
        {drawn !== undefined && (
          <div className={CHART}>
            <Chart key={drawn.name} view={view} figure={drawn} />
          </div>
        )}
        <Age at={overview.data.at} />
      </div>
    </section>
  );
}

const BOX = "min-w-0 rounded-lg border border-line bg-panel";
// Reserves the height of the figures and chart, to avoid a layout shift.
const LOADING = "min-h-[38.75rem] sm:min-h-[27rem]";
const CHART = "min-h-[22.75rem] sm:min-h-[20.25rem]";

interface FigureButtonProps {
  figure: Figure;
  isDrawn: boolean;
  onDraw: (name: FigureName) => void;
}

function FigureButton({ figure, isDrawn, onDraw }: FigureButtonProps) {
  const { name, unit, value, previous, change, isIncreaseBad } = figure;
  const content = (
    <>
      <span
        className={classes(
          "block truncate font-medium text-sm",
          isDrawn ? "text-accent-text" : "text-ink-2",
        )}
      >
        {words.figures[name]}
      </span>
      <span className="flex flex-wrap items-baseline gap-x-2">
        <span className="whitespace-nowrap font-semibold text-2xl tabular-nums">
          {formatValue(value, unit)}
        </span>
        <Change
          change={change}
          before={formatValue(previous, unit)}
          isIncreaseBad={isIncreaseBad}
        />
      </span>
    </>
  );
  const shape = "block w-full border-b-2 px-4 pt-3 pb-2.5 text-start";
  if (!canBeDrawn(name))
    return <div className={classes(shape, "border-transparent")}>{content}</div>;
  return (
    <button
      type="button"
      aria-pressed={isDrawn}
      onClick={() => onDraw(name)}
      className={classes(
        shape,
        "h-full -outline-offset-2 hover:bg-sunken",
        isDrawn ? "border-accent" : "border-transparent",
      )}
    >
      {content}
    </button>
  );
}
