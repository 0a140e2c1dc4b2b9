import { useId, useRef } from "react";
import { words } from "@/words/charts";
import { formatNumber } from "@/words/format";
import { CategoriesSvg, type Category, type Form } from "./CategoriesSvg";
import { Figure, type FigureData, type FigureProps } from "./Figure";
import { Legend } from "./Legend";
import { isHatched, type Series } from "./series";
import { activeFirst } from "./TimeSeries";
import { useCursor } from "./useCursor";
import { useWidth } from "./useWidth";

export interface CategoriesProps extends Pick<FigureProps, "caption" | "fileName" | "note"> {
  categories: readonly Category[];
  /** Values may be negative; those bars point down. */
  series: readonly Series[];
  /** Lines, stacked bars, or bars side by side. */
  form: Form;
  /** The same numbers as a table. */
  data: FigureData;
  /** Whether the last category is still in progress. */
  isPartial?: boolean;
  format?: (value: number) => string;
  onOpen?: (index: number, series: Series) => void;
  height?: number;
}

const HEIGHT = 300;

/** Series over ordered categories other than times, or with negative values. */
export function Categories(props: CategoriesProps) {
  const { categories, series, form, onOpen, format = formatNumber, height = HEIGHT } = props;
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const open = (index: number, place: number) => {
    const one = series[place];
    if (onOpen && one) onOpen(index, one);
  };
  const cursor = useCursor({
    times: categories.length,
    series: series.length,
    onOpen: onOpen && open,
  });
  const when = categories[cursor.index]?.name ?? "";
  const spoken = activeFirst(series, cursor.series).map((one) => {
    const value = one.values[cursor.index] ?? null;
    return words.valueOf(one.name, value === null ? words.none : format(value));
  });
  const isEmpty = series.every(({ values }) => values.every((value) => (value ?? 0) === 0));
  return (
    <Figure
      caption={props.caption}
      data={props.data}
      {...(props.fileName !== undefined && { fileName: props.fileName })}
      {...(props.note !== undefined && { note: props.note })}
    >
      {isEmpty ? (
        <p className="flex items-center justify-center text-ink-3" style={{ height }}>
          {words.noData}
        </p>
      ) : (
        <>
          <div
            ref={box}
            role="slider"
            tabIndex={0}
            aria-label={props.caption}
            aria-valuemin={0}
            aria-valuemax={categories.length - 1}
            aria-valuenow={cursor.index}
            aria-valuetext={words.point(when, spoken.join(", "))}
            aria-roledescription={words.chart}
            title={onOpen ? words.keysWithOpen : words.keys}
            className={`min-w-0 rounded ${onOpen ? "cursor-pointer" : ""}`}
            style={{ height }}
            onKeyDown={cursor.onKeyDown}
            onMouseLeave={() => cursor.setPosition(null)}
          >
            {width > 0 && (
              <CategoriesSvg
                id={id}
                categories={categories}
                series={series}
                form={form}
                isPartial={props.isPartial ?? false}
                format={format}
                width={width}
                height={height}
                cursor={cursor.isSet ? cursor.index : null}
                onCursor={(index, place) => cursor.setPosition({ index, series: place })}
                onOpen={open}
              />
            )}
          </div>
          <Legend
            series={series}
            index={cursor.index}
            when={when}
            format={format}
            active={onOpen && cursor.isSet ? cursor.series : null}
            kind={form === "lines" ? "line" : "layer"}
            hatchOf={isHatched}
          />
        </>
      )}
    </Figure>
  );
}
