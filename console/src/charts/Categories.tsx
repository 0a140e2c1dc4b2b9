import { useId } from "react";
import { words } from "@/words/charts";
import { formatNumber } from "@/words/format";
import { CategoriesSvg, type Category, type Form } from "./CategoriesSvg";
import { CursorBox, NoData } from "./CursorBox";
import { Figure, type FigureData, type FigureProps } from "./Figure";
import { Legend } from "./Legend";
import { isHatched, type Series } from "./series";
import { activeFirst } from "./TimeSeries";
import { useCursor } from "./useCursor";

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
  const open = (index: number, place: number) => {
    const one = series[place];
    if (onOpen && one) onOpen(index, one);
  };
  const cursor = useCursor({
    times: categories.length,
    series: series.length,
    onOpen: onOpen && open,
  });
  const { name = "", notes = [] } = categories[cursor.index] ?? {};
  const when = [name, ...notes].join(" · ");
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
        <NoData height={height} />
      ) : (
        <>
          <CursorBox
            caption={props.caption}
            count={categories.length}
            cursor={cursor}
            valueText={words.point(when, spoken.join(", "))}
            canOpen={onOpen !== undefined}
            height={height}
          >
            {(width) => (
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
          </CursorBox>
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
