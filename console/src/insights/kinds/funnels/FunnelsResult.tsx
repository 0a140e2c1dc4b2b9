import { useMemo } from "react";
import { FunnelBars, type FunnelPart } from "@/charts";
import { formatDuration, formatNumber, formatShare } from "@/words/format";
import { words } from "@/words/insightsFunnels";
import type { ResultProps } from "../kind";
import { placeOfStep } from "./behind";
import { ConversionsChart } from "./ConversionsChart";
import { CorrelationPanel } from "./CorrelationPanel";
import { optionsOf } from "./options";
import { StepsTable } from "./StepsTable";
import {
  countedIn,
  droppedName,
  type Funnel,
  numbered,
  partsOf,
  placeBefore,
  readFunnels,
  shareOf,
  shortened,
} from "./steps";
import { TimesChart } from "./TimesChart";
import { columnsOfSteps, funnelsTable } from "./table";

/** The result of a funnel, in the chosen visualization. */
export function FunnelsResult(asked: ResultProps) {
  const { visualization, countedBy } = optionsOf(asked.question);
  const { onOpen: _, ...withoutPersons } = asked;
  const props = countedBy === undefined ? asked : withoutPersons;
  if (visualization === "time_to_convert") return <TimesChart {...props} />;
  return visualization === "trends" ? <ConversionsChart {...props} /> : <Steps {...props} />;
}

function Steps(props: ResultProps) {
  const { question, answer, isTile, height, onOpen } = props;
  const funnels = useMemo(() => readFunnels({ question, answer }), [question, answer]);
  const [first] = funnels;
  const { reference, layout, countedBy } = optionsOf(question);
  if (first === undefined || funnels.every(({ steps }) => steps[0]?.count === 0))
    return <p className="py-10 text-center text-ink-3">{words.noSteps}</p>;
  const values = funnels.map(({ key, label, name, isPrevious, steps }) => ({
    key,
    name: label,
    color: name,
    isPrevious,
    counts: steps.map(({ count }) => count),
  }));
  const open = (part: FunnelPart) => {
    const funnel = funnels[part.value];
    if (funnel !== undefined && numberOf(funnel, part) > 0)
      onOpen?.(placeOfStep(funnel, part.step, part.isDropped));
  };
  const columns = columnsOfSteps(funnels);
  const size = first.steps.length;
  const names = first.steps.map(({ name }, place) => numbered(place, name));
  const only = funnels.length === 1 ? first : null;
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <FunnelBars
        caption={captionOfSteps(names, first, only)}
        data={funnelsTable({ question, answer })}
        fileName="funnel"
        steps={names.map((name, place) => ({
          name,
          notes: only ? notesOf(only, place) : [],
          before: placeBefore(first.steps, place),
        }))}
        values={values}
        reference={reference}
        isStacked={layout === "horizontal"}
        {...(height !== undefined && { height })}
        textOf={(part) => textOfPart(funnels, part, countedIn(question))}
        {...(onOpen && {
          onOpen: open,
          onOpenNumber: (row: number, column: number) =>
            open({
              value: Math.floor(row / size),
              step: row % size,
              isDropped: column === columns.dropped,
            }),
        })}
        canOpenColumn={(column) => column === columns.reached || column === columns.dropped}
      />
      {!isTile && (
        <>
          <StepsTable
            asked={{ question, answer }}
            funnels={funnels}
            values={values}
            onOpen={onOpen}
          />
          {countedBy === undefined && <CorrelationPanel funnel={answer.query} onOpen={onOpen} />}
        </>
      )}
    </div>
  );
}

const numberOf = (funnel: Funnel, { step, isDropped }: FunnelPart): number => {
  const { reached, dropped } = partsOf(funnel, step);
  return isDropped ? dropped : reached;
};

function captionOfSteps(names: readonly string[], shown: Funnel, only: Funnel | null): string {
  const end = shown.steps.findLastIndex((step) => !step.isOptional);
  const [first = "", last = ""] = [names[0], names[end]];
  if (only === null) return words.captionOf(first, last);
  const share = shareOf(only.steps[end]?.count ?? 0, only.steps[0]?.count ?? 0);
  return words.caption(first, last, formatShare(share ?? 0));
}

function notesOf(funnel: Funnel, place: number): string[] {
  const step = funnel.steps[place];
  const share = shareOf(step?.count ?? 0, funnel.steps[0]?.count ?? 0);
  const time = step?.median ?? null;
  return [
    words.countAndShare(formatNumber(step?.count ?? 0), formatShare(share ?? 0)),
    ...(time === null ? [] : [words.medianTime(formatDuration(time))]),
  ];
}

/** "2. paid: 3 persons, 60% of the step before, 60% of the first step, median 10 min" */
function textOfPart(funnels: readonly Funnel[], part: FunnelPart, counted: string): string {
  const funnel = funnels[part.value];
  const step = funnel?.steps[part.step];
  if (funnel === undefined || step === undefined) return "";
  const number = numberOf(funnel, part);
  const { reached, dropped } = partsOf(funnel, part.step);
  const name = numbered(part.step, step.name);
  const what = part.isDropped ? droppedName(funnel, part.step) : words.reachedStep(name);
  const ofBefore = shareOf(number, reached + dropped);
  const ofAll = shareOf(number, funnel.steps[0]?.count ?? 0);
  const facts = [
    words.countOf(formatNumber(number), counted.toLowerCase()),
    ...(part.step === 0 ? [] : [words.shareOfPrevious(formatShare(ofBefore ?? 0))]),
    ...(part.step === 0 ? [] : [words.shareOfFirst(formatShare(ofAll ?? 0))]),
    ...(part.isDropped || step.median === null
      ? []
      : [words.medianTime(formatDuration(step.median))]),
    ...(part.isDropped || step.average === null
      ? []
      : [words.averageTime(formatDuration(step.average))]),
  ];
  const title = funnel.label === undefined ? what : words.ofValue(what, shortened(funnel.label));
  return words.facts(title, facts.join(words.between));
}
