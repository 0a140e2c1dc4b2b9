import { useEffect, useLayoutEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { type PlotData, plotOptions, plotValues, sums } from "./plotOptions";

interface Props extends PlotData {
  cursor: number | null;
  onCursor: (index: number | null) => void;
  onOpen: ((index: number, series: number) => void) | undefined;
}

/** The canvas of lines. */
export default function Plot(props: Props) {
  const { times, series, interval, zone, isPartial, isStacked, height, cursor } = props;
  const { thresholds, marks } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const calls = useRef(props);
  calls.current = props;

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const data: PlotData = {
      times,
      series,
      interval,
      zone,
      isPartial,
      thresholds,
      marks,
      isStacked,
      height,
    };
    const draw = (width: number) => {
      plot.current?.destroy();
      const options = plotOptions(data, getComputedStyle(element), {
        width,
        onMove: (index) => calls.current.onCursor(index),
      });
      plot.current = new uPlot(options, plotValues(data), element);
    };
    // Called first in the frame in which the box is laid out. To ask for the width here would lay
    // out the page again for each chart.
    const resized = new ResizeObserver(([box]) => {
      const width = Math.round(box?.contentRect.width ?? 0);
      if (plot.current === null) draw(width);
      else plot.current.setSize({ width, height });
    });
    resized.observe(element);
    // Colours are read when it is drawn, and so once more with each theme.
    const themed = new MutationObserver(() => draw(element.clientWidth));
    themed.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => {
      resized.disconnect();
      themed.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [times, series, interval, zone, isPartial, thresholds, marks, isStacked, height]);

  useEffect(() => {
    const drawn = plot.current;
    const time = cursor === null ? undefined : times[cursor];
    if (drawn === null || drawn.cursor.idx === cursor) return;
    const left = time === undefined ? -10 : drawn.valToPos(time.getTime() / 1000, "x");
    drawn.setCursor({ left, top: time === undefined ? -10 : drawn.over.clientHeight / 2 }, false);
  }, [cursor, times]);

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the slider around it has the keys.
    // biome-ignore lint/a11y/useKeyWithClickEvents: the slider around it has the keys.
    <div
      ref={box}
      className={`min-w-0 ${props.onOpen ? "cursor-pointer" : ""}`}
      style={{ height }}
      onMouseLeave={() => props.onCursor(null)}
      onClick={(event) => {
        const drawn = plot.current;
        if (drawn === null || !props.onOpen || typeof drawn.cursor.idx !== "number") return;
        const top = event.clientY - drawn.over.getBoundingClientRect().top;
        const lines = isStacked ? sums(series) : series;
        props.onOpen(drawn.cursor.idx, nearest(drawn, lines, drawn.cursor.idx, top));
      }}
    />
  );
}

/** Place of the series whose point is closest to the pointer. */
function nearest(plot: uPlot, series: Props["series"], index: number, top: number): number {
  let best = 0;
  let least = Number.POSITIVE_INFINITY;
  series.forEach((one, place) => {
    const value = one.values[index];
    if (value === null || value === undefined) return;
    const distance = Math.abs(plot.valToPos(value, "y") - top);
    if (distance < least) [best, least] = [place, distance];
  });
  return best;
}
