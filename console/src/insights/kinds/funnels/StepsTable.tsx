import { colorOf, type FunnelValue } from "@/charts";
import { formatDuration, formatShare } from "@/words/format";
import { words } from "@/words/insightsFunnels";
import type { Asked, Place } from "../kind";
import { placeOfStep } from "./behind";
import { NumberButton } from "./NumberButton";
import { StepPaths } from "./StepPaths";
import {
  countedIn,
  droppedName,
  type Funnel,
  numbered,
  partsOf,
  shareOf,
  shortened,
} from "./steps";

interface Props {
  asked: Asked;
  funnels: readonly Funnel[];
  values: readonly FunnelValue[];
  onOpen: ((place: Place) => void) | undefined;
}

const HEAD = "border-line border-b bg-panel px-2 py-1.5 align-bottom font-medium text-ink-2";
const CELL = "whitespace-nowrap border-line border-b px-2 py-1.5 text-end tabular-nums";

/** The numbers of each step; each number opens the persons behind it. */
export function StepsTable({ asked, funnels, values, onOpen }: Props) {
  const isBroken = funnels.some(({ label }) => label !== undefined);
  const counted = countedIn(asked.question);
  const heads = [counted, words.ofPreviousShort, words.ofFirstShort, words.droppedOut];
  return (
    <section
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable box must be reachable with the keyboard.
      tabIndex={0}
      aria-label={words.numbers}
      className="min-w-0 overflow-x-auto rounded-lg border border-line bg-panel"
    >
      <table className="w-full border-separate border-spacing-0 text-sm">
        <thead>
          <tr>
            {isBroken && (
              <th scope="col" className={`${HEAD} text-start`}>
                {words.value}
              </th>
            )}
            <th scope="col" className={`${HEAD} text-start`}>
              {words.stepColumn}
            </th>
            {[...heads, words.medianShort, words.averageShort].map((head) => (
              <th key={head} scope="col" className={`${HEAD} min-w-16 break-normal text-end`}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        {funnels.map((funnel, index) => (
          <tbody key={funnel.key}>
            {funnel.steps.map((step, place) => (
              <tr key={numbered(place, step.name)} className="hover:bg-sunken">
                {isBroken && place === 0 && (
                  <ValueCell
                    funnel={funnel}
                    color={colorOf(values, values[index] as FunnelValue)}
                    number={index + 1}
                  />
                )}
                <StepCells asked={asked} funnel={funnel} place={place} onOpen={onOpen} />
              </tr>
            ))}
          </tbody>
        ))}
      </table>
    </section>
  );
}

function ValueCell({ funnel, color, number }: { funnel: Funnel; color: string; number: number }) {
  return (
    <th
      scope="rowgroup"
      rowSpan={funnel.steps.length}
      className="min-w-28 max-w-56 border-line border-b px-2 py-1.5 text-start align-top font-medium"
    >
      <span className="flex min-w-0 items-baseline gap-2">
        <span
          aria-hidden
          className="inline-flex h-4 min-w-4 shrink-0 items-center justify-center rounded-sm px-0.5 text-[10px] text-panel"
          style={{ background: color }}
        >
          {number}
        </span>
        <bdi className="wrap-anywhere line-clamp-3" title={shortened(funnel.label ?? "")}>
          {funnel.label}
        </bdi>
      </span>
    </th>
  );
}

interface StepProps {
  asked: Asked;
  funnel: Funnel;
  place: number;
  onOpen: ((place: Place) => void) | undefined;
}

function StepCells({ asked, funnel, place, onOpen }: StepProps) {
  const step = funnel.steps[place];
  if (step === undefined) return null;
  const { reached, dropped } = partsOf(funnel, place);
  const name = numbered(place, step.name);
  const label = (said: string) =>
    funnel.label === undefined ? said : words.ofValue(said, shortened(funnel.label));
  const open = (isDropped: boolean) =>
    onOpen && (() => onOpen(placeOfStep(funnel, place, isDropped)));
  const isFirst = place === 0;
  const shares = [
    isFirst ? null : shareOf(reached, reached + dropped),
    shareOf(reached, funnel.steps[0]?.count ?? 0),
  ];
  return (
    <>
      <th
        scope="row"
        className="wrap-anywhere min-w-28 border-line border-b px-2 py-1.5 text-start font-normal"
      >
        <span className="flex items-center justify-between gap-1">
          <bdi>{name}</bdi>
          {/* Paths lie between steps that are not skipped, and are those of all values. */}
          {onOpen && funnel.label === undefined && !step.isOptional && (
            <StepPaths asked={asked} place={place} name={name} />
          )}
        </span>
      </th>
      <td className={CELL}>
        <NumberButton
          label={label(words.reachedStep(name))}
          number={reached}
          onOpen={open(false)}
        />
      </td>
      {shares.map((share, index) => (
        <td key={index === 0 ? words.ofPrevious : words.ofFirst} className={CELL}>
          {share === null ? words.nothing : formatShare(share)}
        </td>
      ))}
      <td className={CELL}>
        {isFirst ? (
          words.nothing
        ) : (
          <NumberButton
            label={label(droppedName(funnel, place))}
            number={dropped}
            onOpen={open(true)}
          />
        )}
      </td>
      {[step.median, step.average].map((seconds, index) => (
        <td key={index === 0 ? words.median : words.average} className={CELL}>
          {seconds === null ? words.nothing : formatDuration(seconds)}
        </td>
      ))}
    </>
  );
}
