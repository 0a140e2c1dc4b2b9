import { type KeyboardEvent, type ReactNode, useMemo, useRef, useState } from "react";
import { classes } from "@/ui/classes";
import { Visible } from "@/ui/properties";
import { cut } from "@/ui/properties/safeText";
import { formatNumber } from "@/words/format";
import { words } from "@/words/insightsPaths";
import type { Place } from "../kind";
import { nameOfStep, placeOfEnd, placeOfLink, placeOfStep } from "./behind";
import { type Graph, shortNames } from "./graph";
import { layoutOf, type PlacedLink, type PlacedStep, ribbonOf, STEP_WIDTH } from "./layout";
import { nextOf, type Walk, walkOf } from "./walk";

interface Props {
  graph: Graph;
  onOpen: ((place: Place) => void) | undefined;
}

const HEAD = 28;
const TITLE_MAX = 300;
// Thinner links have no room for their number.
const NUMBER_MIN = 13;

/** Steps in columns; the width of a link shows how frequent it is. */
export function PathsGraph({ graph, onOpen }: Props) {
  const layout = useMemo(() => layoutOf(graph), [graph]);
  const walk = useMemo(() => walkOf(layout), [layout]);
  const box = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState<string | null>(null);
  const [reached, setReached] = useState<string | null>(null);
  const first = layout.steps[0];
  const inTabs = reached !== null && walk.has(reached) ? reached : `step ${first?.key}`;
  const parts = { layout, walk, active, inTabs, onOpen, onActive: setActive };
  return (
    <div className="flex min-w-0 flex-col gap-2">
      {/* biome-ignore lint/a11y/useSemanticElements: a group of buttons, not of fields. */}
      <div
        ref={box}
        role="group"
        aria-label={words.graph}
        title={words.keys}
        className="relative min-w-0 overflow-auto rounded-lg border border-line bg-panel p-3"
        onKeyDown={(event) => move(event, walk, box.current)}
        onFocus={({ target }) => {
          const { at } = (target as HTMLElement).dataset;
          if (at === undefined) return;
          setReached(at);
          setActive(at);
        }}
        onBlur={() => setActive(null)}
        onMouseLeave={() => setActive(null)}
      >
        <div className="relative" style={{ width: layout.width, height: layout.height + HEAD }}>
          {layout.columns.map((column) => (
            <p
              key={column}
              className="absolute top-0 text-ink-3 text-sm"
              style={{ left: layout.steps.find((step) => step.column === column)?.x }}
            >
              {words.column(column)}
            </p>
          ))}
          {/* biome-ignore lint/a11y/noSvgWithoutTitle: each of its links has a name. */}
          <svg
            width={layout.width}
            height={layout.height}
            className="absolute start-0"
            style={{ top: HEAD }}
          >
            {layout.links.map((link) => (
              <LinkRibbon key={link.key} {...parts} link={link} />
            ))}
          </svg>
          {layout.steps.map((step) => (
            <StepBox key={step.key} {...parts} step={step} name={shortNames(graph.steps)} />
          ))}
        </div>
      </div>
      <p className="min-h-5 text-ink-2 text-sm">
        <Visible
          text={cut((active !== null && walk.get(active)?.label) || words.countsPaths, 300)}
        />
      </p>
    </div>
  );
}

interface PartProps {
  layout: ReturnType<typeof layoutOf>;
  walk: Walk;
  /** The stop that is hovered or focused. */
  active: string | null;
  /** The stop that Tab reaches. */
  inTabs: string;
  onOpen: ((place: Place) => void) | undefined;
  onActive: (at: string) => void;
}

function LinkRibbon({
  link,
  walk,
  active,
  inTabs,
  onOpen,
  onActive,
}: PartProps & { link: PlacedLink }) {
  const at = `link ${link.key}`;
  const isFaint = active !== null && active !== at && !walk.get(active)?.near.includes(at);
  const open = () => onOpen?.(placeOfLink(link));
  return (
    <g className={isFaint ? "opacity-25" : ""}>
      {/* biome-ignore lint/a11y/useSemanticElements: SVG has no buttons. */}
      <path
        d={ribbonOf(link)}
        role="button"
        tabIndex={inTabs === at ? 0 : -1}
        aria-label={walk.get(at)?.label}
        data-at={at}
        className="cursor-pointer fill-series-2 outline-offset-2 hover:opacity-100"
        fillOpacity={active === at ? 0.75 : 0.3}
        onMouseEnter={() => onActive(at)}
        onClick={open}
        onKeyDown={(event) => {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          open();
        }}
      />
      {link.width >= NUMBER_MIN && (
        <text
          x={link.from.x + 6}
          y={link.from.y}
          dy="0.34em"
          aria-hidden
          className="pointer-events-none fill-ink text-[11px]"
        >
          {formatNumber(link.count)}
        </text>
      )}
    </g>
  );
}

function StepBox(props: PartProps & { step: PlacedStep; name: ReadonlyMap<string, string> }) {
  const { step, walk, active, inTabs, onOpen, onActive } = props;
  const [at, end] = [`step ${step.key}`, `end ${step.key}`];
  const place = placeOfStep(step);
  const near = active === null ? [] : [active, ...(walk.get(active)?.near ?? [])];
  const isFaint = active !== null && !near.includes(at) && !near.includes(end);
  const label = step.isOther ? nameOfStep(step) : (props.name.get(step.name) ?? step.name);
  return (
    <div
      className={classes("absolute", isFaint && "opacity-40")}
      style={{ left: step.x, top: HEAD + step.y, width: STEP_WIDTH, height: step.height }}
    >
      <Spot
        at={at}
        title={step.isOther ? undefined : cut(step.name, TITLE_MAX)}
        inTabs={inTabs}
        isOff={place === null || onOpen === undefined}
        onActive={onActive}
        onOpen={() => place !== null && onOpen?.(place)}
        className={classes(
          "flex size-full flex-col gap-0.5 overflow-hidden rounded-md border border-line border-s-4 bg-sunken px-2 py-1.5 text-start hover:border-line-strong",
          step.isOther ? "border-dashed text-ink-2" : "border-s-series-2",
        )}
      >
        <span className="sr-only">{words.stepOf(step.column)}</span>
        <span className="line-clamp-2 break-all text-sm leading-4">
          {step.isOther ? label : <Visible text={label} />}
        </span>
        <span className="text-ink-2 text-sm tabular-nums leading-4">{words.paths(step.count)}</span>
      </Spot>
      {step.ended > 0 && (
        <Spot
          at={end}
          inTabs={inTabs}
          isOff={onOpen === undefined}
          onActive={onActive}
          onOpen={() => onOpen?.(placeOfEnd(step))}
          className="absolute end-1 bottom-1 rounded bg-bad-soft px-1 text-bad text-xs tabular-nums leading-5 hover:underline"
        >
          <span className="sr-only">{words.endOfStep(step.column, label)}</span>
          {words.ended(step.ended)}
        </Spot>
      )}
    </div>
  );
}

interface SpotProps {
  at: string;
  title?: string | undefined;
  inTabs: string;
  isOff: boolean;
  className: string;
  onActive: (at: string) => void;
  onOpen: () => void;
  children: ReactNode;
}

/** A number on a step. Arrow keys also stop at numbers that cannot be opened. */
function Spot(props: SpotProps) {
  return (
    <button
      type="button"
      data-at={props.at}
      title={props.title}
      aria-disabled={props.isOff ? true : undefined}
      tabIndex={props.inTabs === props.at ? 0 : -1}
      className={props.className}
      onMouseEnter={() => props.onActive(props.at)}
      onClick={props.onOpen}
    >
      {props.children}
    </button>
  );
}

function move(event: KeyboardEvent, walk: Walk, box: HTMLElement | null): void {
  const { at } = (event.target as HTMLElement).dataset;
  const next = at === undefined ? undefined : nextOf(walk, at, event.key);
  if (next === undefined) return;
  event.preventDefault();
  const found = [...(box?.querySelectorAll<HTMLElement>("[data-at]") ?? [])].find(
    (one) => one.dataset.at === next,
  );
  found?.focus();
}
