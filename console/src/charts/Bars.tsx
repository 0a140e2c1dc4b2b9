import { useId } from "react";
import { words } from "@/words/charts";
import { formatNumber } from "@/words/format";
import { BarsSvg } from "./BarsSvg";
import { CursorBox, NoData } from "./CursorBox";
import { Figure } from "./Figure";
import { Legend } from "./Legend";
import { isHatched, NO_MARKS } from "./series";
import { activeFirst, nameOf, notedName, type TimeSeriesProps } from "./TimeSeries";
import { useCursor } from "./useCursor";

export interface BarsProps extends Omit<TimeSeriesProps, "thresholds" | "isStacked"> {
  /** Side by side instead of stacked. */
  isGrouped?: boolean;
}

const HEIGHT = 180;

/** Bars over time, with one layer or one bar for each series. */
export function Bars(props: BarsProps) {
  const { times, series, onOpen, format = formatNumber } = props;
  const height = props.height ?? HEIGHT;
  const id = useId();
  const open = (index: number, place: number) => {
    const [time, one] = [times[index], series[place]];
    if (onOpen && time && one)
      onOpen({ index, time, series: one, value: one.values[index] ?? null });
  };
  const cursor = useCursor({ times: times.length, series: series.length, onOpen: onOpen && open });
  const when = notedName(props, cursor.index);
  const totalOf = (index: number) =>
    series.reduce((sum, one) => sum + (one.isPrevious ? 0 : (one.values[index] ?? 0)), 0);
  const spoken = [
    ...(props.isGrouped ? [] : [words.valueOf(words.total, format(totalOf(cursor.index)))]),
    ...activeFirst(series, cursor.series).map((one) =>
      words.valueOf(one.name, format(one.values[cursor.index] ?? 0)),
    ),
  ];
  const hasData = series.some(({ values }) => values.some((value) => (value ?? 0) > 0));

  return (
    <Figure
      caption={props.caption}
      {...(props.fileName !== undefined && { fileName: props.fileName })}
      {...(props.actions !== undefined && { actions: props.actions })}
      {...(props.note !== undefined && { note: props.note })}
      onOpenNumber={onOpen && ((index, column) => open(index, column - 1))}
      data={{
        columns: [words.time, ...series.map((one) => one.name)],
        rows: times.map((_, index) => [
          nameOf(props, index),
          ...series.map((one) => one.values[index] ?? null),
        ]),
      }}
    >
      {hasData ? (
        <>
          <CursorBox
            caption={props.caption}
            count={times.length}
            cursor={cursor}
            valueText={words.point(when, spoken.join(", "))}
            canOpen={onOpen !== undefined}
            height={height}
          >
            {(width) => (
              <BarsSvg
                id={id}
                times={times}
                series={series}
                interval={props.interval}
                zone={props.zone}
                isPartial={props.isPartial ?? false}
                isGrouped={props.isGrouped ?? false}
                marks={props.marks ?? NO_MARKS}
                width={width}
                height={height}
                cursor={cursor.isSet ? cursor.index : null}
                onCursor={(index, place) => cursor.setPosition({ index, series: place })}
                onOpen={open}
              />
            )}
          </CursorBox>
          <Legend
            series={series}
            index={cursor.index}
            when={when}
            format={format}
            active={onOpen && cursor.isSet ? cursor.series : null}
            kind="layer"
            hatchOf={isHatched}
          />
        </>
      ) : (
        <NoData height={height} />
      )}
    </Figure>
  );
}
