import { words } from "@/words/charts";
import { formatNumber } from "@/words/format";
import { Figure, type FigureProps } from "./Figure";
import { fillOf, markOf, type Series } from "./series";

/** A total over the whole period. */
export interface Total extends Omit<Series, "values"> {
  value: number;
}

export interface TotalsProps
  extends Pick<FigureProps, "caption" | "fileName" | "actions" | "note"> {
  totals: readonly Total[];
  onOpen?: ((place: number) => void) | undefined;
  format?: (value: number) => string;
}

/** A figure of totals over the whole period, with its data as a table. */
export function TotalsFigure(props: TotalsProps & { children: React.ReactNode }) {
  const { totals, onOpen } = props;
  return (
    <Figure
      caption={props.caption}
      {...(props.fileName !== undefined && { fileName: props.fileName })}
      {...(props.actions !== undefined && { actions: props.actions })}
      {...(props.note !== undefined && { note: props.note })}
      onOpenNumber={onOpen && ((row) => onOpen(row))}
      data={{
        columns: [words.name, words.total],
        rows: totals.map(({ name, value }) => [name, value]),
      }}
    >
      {totals.length === 0 ? (
        <p className="py-10 text-center text-ink-3">{words.noData}</p>
      ) : (
        props.children
      )}
    </Figure>
  );
}

/** Horizontal bars, one per total. */
export function TotalBars(props: TotalsProps) {
  const most = Math.max(0, ...props.totals.map(({ value }) => value));
  return (
    <TotalsFigure {...props}>
      <ul className="flex flex-col gap-1">
        {props.totals.map((one, place) => (
          <TotalRow
            key={one.key ?? one.name}
            total={one}
            place={place}
            share={most === 0 ? 0 : Math.max(0, one.value) / most}
            text={(props.format ?? formatNumber)(one.value)}
            onOpen={props.onOpen && (() => props.onOpen?.(place))}
          />
        ))}
      </ul>
    </TotalsFigure>
  );
}

interface RowProps {
  total: Total;
  place: number;
  /** The width of the bar, from 0 to 1. */
  share: number;
  text: string;
  onOpen: (() => void) | undefined;
}

export function TotalRow({ total, place, share, text, onOpen }: RowProps) {
  const content = (
    <>
      <bdi className="truncate text-start" title={total.name}>
        {total.name}
      </bdi>
      <span className="h-5 min-w-0 overflow-hidden rounded-sm bg-sunken">
        <span
          className="block h-full rounded-sm"
          style={{
            width: `${share * 100}%`,
            minWidth: share > 0 ? 2 : 0,
            background: fillOf(markOf({ ...total, values: [] }, place).token, place),
          }}
        />
      </span>
      <span className="text-end font-medium tabular-nums">{text}</span>
    </>
  );
  const shape =
    "grid w-full grid-cols-[minmax(5rem,14rem)_minmax(2rem,1fr)_7rem] items-center gap-3 rounded px-1 py-0.5";
  return (
    <li>
      {onOpen === undefined ? (
        <div className={shape}>{content}</div>
      ) : (
        <button type="button" className={`${shape} hover:bg-sunken`} onClick={onOpen}>
          {content}
        </button>
      )}
    </li>
  );
}
