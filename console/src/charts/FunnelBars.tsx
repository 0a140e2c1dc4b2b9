import { useId, useRef } from "react";
import { classes } from "@/ui/classes";
import { words } from "@/words/charts";
import { Figure, type FigureProps } from "./Figure";
import { colorsByValue } from "./palette";
import { useCursor } from "./useCursor";
import { useWidth } from "./useWidth";

/** One breakdown value, or a single unnamed entry without a breakdown. */
export interface FunnelValue {
  key: string;
  name: string | undefined;
  /** The name that its colour is chosen by. */
  color: string | undefined;
  /** Whether it is of the period that is compared with, drawn paler. */
  isPrevious: boolean;
  /** How many reached each step. */
  counts: readonly number[];
}

/** The people who reached a step, or who dropped out just before it. */
export interface FunnelPart {
  value: number;
  /** Zero-based. */
  step: number;
  isDropped: boolean;
}

export interface FunnelBarsProps
  extends Pick<
    FigureProps,
    "caption" | "data" | "fileName" | "actions" | "note" | "onOpenNumber" | "canOpenColumn"
  > {
  /** Step names, with the text below them, and the place of the step that people drop out from. */
  steps: readonly { name: string; notes: readonly string[]; before: number }[];
  values: readonly FunnelValue[];
  /** Whether bars show the share of the first step or of the previous one. */
  reference: "total" | "previous";
  /** Whether steps are stacked vertically. Narrow screens always stack them. */
  isStacked?: boolean;
  height?: number;
  /** The text that describes a part. */
  textOf: (part: FunnelPart) => string;
  onOpen?: (part: FunnelPart) => void;
}

const HEIGHT = 240;
const STEP_WIDTH = 104;
const BAR_WIDTH = 12;
const MARKS = [100, 75, 50, 25, 0];
/** How much of its colour the previous period keeps, in percent. */
const PALER = 55;

/** Bars showing conversion from step to step, with drop-off hatched on top. */
export function FunnelBars(props: FunnelBarsProps) {
  const { steps, values, onOpen, textOf } = props;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const id = useId();
  const parts = partsOf(steps.length);
  const partAt = (index: number, value: number): FunnelPart => ({
    ...(parts[index] ?? { step: 0, isDropped: false }),
    value,
  });
  const cursor = useCursor({
    times: parts.length,
    series: values.length,
    onOpen: onOpen && ((index, value) => onOpen(partAt(index, value))),
  });
  const chosen = partAt(cursor.index, cursor.series);
  const text = textOf(chosen);
  const isStacked = props.isStacked || (width > 0 && width < steps.length * STEP_WIDTH);
  const look = {
    ...props,
    id,
    isStacked,
    chosen: cursor.isSet ? chosen : null,
    onPoint: (part: FunnelPart) => cursor.setPosition({ index: placeOf(part), series: part.value }),
  };
  return (
    <Figure
      caption={props.caption}
      data={props.data}
      onOpenNumber={props.onOpenNumber}
      canOpenColumn={props.canOpenColumn}
      {...(props.fileName !== undefined && { fileName: props.fileName })}
      {...(props.actions !== undefined && { actions: props.actions })}
      {...(props.note !== undefined && { note: props.note })}
    >
      <div
        ref={box}
        role="slider"
        tabIndex={0}
        aria-label={props.caption}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, parts.length - 1)}
        aria-valuenow={cursor.index}
        aria-valuetext={text}
        aria-roledescription={words.chart}
        title={onOpen ? words.keysWithOpen : words.keys}
        className={classes("min-w-0 overflow-x-auto rounded", onOpen && "cursor-pointer")}
        onKeyDown={cursor.onKeyDown}
        onMouseLeave={() => cursor.setPosition(null)}
      >
        {isStacked ? <Stacked {...look} /> : <SideBySide {...look} />}
      </div>
      <p className="wrap-anywhere mt-1.5 min-h-5 text-ink-2 text-sm">{text}</p>
    </Figure>
  );
}

/** Parts in keyboard order. The first step has no drop-off. */
function partsOf(steps: number): Omit<FunnelPart, "value">[] {
  return Array.from({ length: steps }, (_, step) => [
    ...(step === 0 ? [] : [{ step, isDropped: true }]),
    { step, isDropped: false },
  ]).flat();
}

const placeOf = ({ step, isDropped }: FunnelPart): number => 2 * step - (isDropped ? 1 : 0);

interface LookProps extends FunnelBarsProps {
  id: string;
  chosen: FunnelPart | null;
  onPoint: (part: FunnelPart) => void;
}

function SideBySide(props: LookProps) {
  const { steps, values, height = HEIGHT } = props;
  const least = Math.max(STEP_WIDTH - 8, values.length * BAR_WIDTH + 24);
  return (
    <div className="flex min-w-fit gap-2 pt-2">
      <Scale height={height} />
      <div
        className="grid min-w-0 flex-1"
        style={{ gridTemplateColumns: `repeat(${steps.length}, minmax(${least}px, 1fr))` }}
      >
        {steps.map((step, place) => (
          <div key={step.name} className="flex min-w-0 flex-col">
            <div className="relative flex items-end justify-center gap-1 px-3" style={{ height }}>
              <Lines />
              {values.map((value, index) => (
                <Bar key={value.key} {...props} step={place} value={index} isUpright />
              ))}
            </div>
            <StepText {...step} className="border-line border-t px-3 pt-2 text-center" />
          </div>
        ))}
      </div>
    </div>
  );
}

function Stacked(props: LookProps) {
  return (
    <div className="flex flex-col gap-3 pt-1">
      {props.steps.map((step, place) => (
        <div key={step.name} className="flex min-w-0 flex-col gap-1">
          <StepText {...step} isInRow />
          {props.values.map((value, index) => (
            <Bar key={value.key} {...props} step={place} value={index} isUpright={false} />
          ))}
        </div>
      ))}
    </div>
  );
}

function StepText(props: {
  name: string;
  notes: readonly string[];
  isInRow?: boolean;
  className?: string;
}) {
  return (
    <div
      className={classes(
        "min-w-0 text-sm",
        props.isInRow && "flex flex-wrap items-baseline gap-x-3",
        props.className,
      )}
    >
      <p className="truncate font-medium text-ink" title={props.name}>
        <bdi>{props.name}</bdi>
      </p>
      {props.notes.map((note, place) => (
        <p key={note} className={classes("tabular-nums", place === 0 ? "text-ink" : "text-ink-3")}>
          {note}
        </p>
      ))}
    </div>
  );
}

const percent = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 0 });

function Scale({ height }: { height: number }) {
  return (
    <div aria-hidden className="relative w-9 shrink-0 text-[11px] text-ink-3" style={{ height }}>
      {MARKS.map((mark) => (
        <span
          key={mark}
          className="-translate-y-1/2 absolute end-0"
          style={{ top: `${100 - mark}%` }}
        >
          {percent.format(mark / 100)}
        </span>
      ))}
    </div>
  );
}

function Lines() {
  return MARKS.map((mark) => (
    <span
      key={mark}
      aria-hidden
      className="absolute inset-x-0 border-line border-t"
      style={{ top: `${100 - mark}%` }}
    />
  ));
}

function Bar(props: LookProps & { step: number; value: number; isUpright: boolean }) {
  const { steps, values, step, value, isUpright, chosen, onPoint, onOpen } = props;
  const one = values[value];
  if (one === undefined) return null;
  const color = colorOf(values, one);
  const shares = sharesOf(one.counts, step, steps[step]?.before ?? step - 1, props.reference);
  const isNumbered = values.length > 1 && isUpright;
  const side = isUpright ? "height" : "width";
  return (
    <div
      className={classes(
        "relative flex min-w-2 flex-1 overflow-hidden rounded-t-sm bg-sunken",
        isUpright ? "h-full max-w-28 flex-col-reverse" : "min-h-5 max-h-8 w-full rounded-e-sm",
      )}
    >
      {[false, true].map((isDropped) => {
        const part = { value, step, isDropped };
        const share = isDropped ? shares.dropped : shares.reached;
        const isChosen =
          chosen?.value === value && chosen.step === step && chosen.isDropped === isDropped;
        return share <= 0 ? null : (
          // biome-ignore lint/a11y/noStaticElementInteractions: the slider around it has the keys.
          // biome-ignore lint/a11y/useKeyWithClickEvents: the slider around it has the keys.
          <div
            key={String(isDropped)}
            data-part={isDropped ? "dropped" : "reached"}
            className={classes(
              "shrink-0",
              isUpright ? "min-h-0.5" : "min-w-0.5",
              isChosen && "outline-2 outline-ink -outline-offset-2",
              chosen !== null && !isChosen && "opacity-70",
            )}
            style={{ [side]: `${share}%`, background: isDropped ? hatched(color) : color }}
            onMouseEnter={() => onPoint(part)}
            onClick={() => onOpen?.(part)}
          />
        );
      })}
      {isNumbered && (
        <span
          aria-hidden
          className="pointer-events-none absolute inset-x-0 bottom-0.5 text-center text-[10px] text-panel"
        >
          {value + 1}
        </span>
      )}
    </div>
  );
}

/** Each breakdown value keeps its colour, whichever others are shown. */
export function colorOf(values: readonly FunnelValue[], one: FunnelValue): string {
  const names = [...new Set(values.flatMap(({ color }) => color ?? []))];
  const color = one.color === undefined ? 2 : (colorsByValue(names).get(one.color) ?? 2);
  const full = `var(--series-${color})`;
  return one.isPrevious ? `color-mix(in srgb, ${full} ${PALER}%, transparent)` : full;
}

const hatched = (color: string): string => {
  const light = `color-mix(in srgb, ${color} 14%, transparent)`;
  const line = `color-mix(in srgb, ${color} 45%, transparent)`;
  return `repeating-linear-gradient(135deg, ${line} 0 1.5px, ${light} 1.5px 6px)`;
};

/** Return the heights of a bar's two parts, 0 to 100. */
function sharesOf(
  counts: readonly number[],
  step: number,
  previous: number,
  reference: FunnelBarsProps["reference"],
): { reached: number; dropped: number } {
  const reached = counts[step] ?? 0;
  const before = step === 0 ? reached : (counts[previous] ?? reached);
  const whole = reference === "total" ? (counts[0] ?? 0) : before;
  const share = (count: number) => (whole === 0 ? 0 : (count / whole) * 100);
  return { reached: share(reached), dropped: share(before - reached) };
}
