import { ChevronRight } from "lucide-react";
import { useState } from "react";
import { useAnswer } from "@/insights/answers";
import type { Query } from "@/insights/question/wire";
import { plainName } from "@/ui/properties";
import { Select } from "@/ui/Select";
import { Failed, Skeleton } from "@/ui/States";
import { words } from "@/words/insightsFunnels";
import type { Place } from "../kind";
import {
  CORRELATED,
  type Correlated,
  type Correlation,
  correlationQuery,
  placeOfCorrelation,
  propertyOf,
  readCorrelations,
} from "./correlation";
import { NumberButton } from "./NumberButton";

interface Props {
  /** The query of the funnel. */
  funnel: Query;
  onOpen: ((place: Place) => void) | undefined;
}

/** What correlates with converting and with dropping out; fetched when the panel opens. */
export function CorrelationPanel({ funnel, onOpen }: Props) {
  const [isOpen, setOpen] = useState(false);
  return (
    <section className="min-w-0 rounded-lg border border-line">
      <h2>
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
          className="flex w-full items-center gap-2 rounded-lg px-3 py-2.5 text-start font-medium hover:bg-sunken"
        >
          <ChevronRight
            aria-hidden
            className={`size-4 shrink-0 text-ink-3 transition-transform ${isOpen ? "rotate-90" : ""}`}
          />
          {words.correlation}
        </button>
      </h2>
      {isOpen && <Opened funnel={funnel} onOpen={onOpen} />}
    </section>
  );
}

function Opened({ funnel, onOpen }: Props) {
  const [chosen, setChosen] = useState<Correlated>("events");
  // Only persons have properties that can be compared.
  const offered = funnel.aggregation_group_type_index === undefined ? CORRELATED : [CORRELATED[0]];
  const of = offered.find((one) => one === chosen) ?? "events";
  const answering = useAnswer(correlationQuery(funnel, of));
  const { answer } = answering;
  return (
    <div className="flex min-w-0 flex-col gap-3 border-line border-t px-3 py-3">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <Select
          isSnug
          className="w-auto!"
          aria-label={words.correlated}
          value={of}
          options={offered.map((value) => ({ value, label: words.correlatedWith[value] }))}
          onChange={setChosen}
        />
        <p className="min-w-0 flex-1 basis-64 text-ink-3 text-sm">{words.correlationHint}</p>
      </div>
      <div
        aria-busy={answering.isOutdated}
        className={answering.isOutdated ? "opacity-60" : undefined}
      >
        {answering.error !== null && <Failed error={answering.error} onRetry={answering.retry} />}
        {answering.error === null && answer === undefined && <Skeleton rows={4} />}
        {answering.error === null && answer !== undefined && (
          <Answered of={answeredOf(answer.query)} results={answer.results} onOpen={onOpen} />
        )}
      </div>
    </div>
  );
}

const answeredOf = ({ funnelCorrelationType: of }: Query): Correlated =>
  CORRELATED.find((one) => one === of) ?? "events";

interface AnsweredProps {
  of: Correlated;
  results: unknown;
  onOpen: ((place: Place) => void) | undefined;
}

function Answered({ of, results, onOpen }: AnsweredProps) {
  const { rows, isSkewed } = readCorrelations(results);
  if (isSkewed) return <p className="text-ink-2">{words.skewed}</p>;
  if (rows.length === 0) return <p className="text-ink-2">{words.noCorrelation}</p>;
  const sides = [
    { label: words.withConverting, rows: rows.filter(({ odds }) => odds > 1) },
    { label: words.withDropping, rows: rows.filter(({ odds }) => odds <= 1) },
  ];
  return (
    <div className="grid min-w-0 gap-4 xl:grid-cols-2">
      {sides.map((side) => (
        <Side key={side.label} {...side} of={of} onOpen={onOpen} />
      ))}
    </div>
  );
}

interface SideProps extends Omit<AnsweredProps, "results"> {
  label: string;
  rows: readonly Correlation[];
}

const HEAD = "whitespace-nowrap border-line border-b px-2 py-1.5 font-medium text-ink-2";
const CELL = "whitespace-nowrap border-line border-b px-2 py-1 text-end tabular-nums";

function Side({ label, rows, of, onOpen }: SideProps) {
  return (
    <section
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable box must be reachable with the keyboard.
      tabIndex={0}
      aria-label={label}
      className="min-w-0 overflow-x-auto"
    >
      <table className="w-full border-separate border-spacing-0 text-sm">
        <caption className="px-2 pb-1 text-start font-medium">{label}</caption>
        <thead>
          <tr>
            <th scope="col" className={`${HEAD} text-start`}>
              {words.correlatedWith[of]}
            </th>
            <th scope="col" className={`${HEAD} text-end`}>
              {words.converted}
            </th>
            <th scope="col" className={`${HEAD} text-end`}>
              {words.droppedOut}
            </th>
            <th scope="col" className={`${HEAD} text-end`} title={words.oddsHint}>
              {words.odds}
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.length === 0 && (
            <tr>
              <td colSpan={4} className="px-2 py-2 text-ink-3">
                {words.noneOfSide}
              </td>
            </tr>
          )}
          {rows.map((row) => (
            <tr key={row.name} className="hover:bg-sunken">
              <th
                scope="row"
                className="wrap-anywhere border-line border-b px-2 py-1 text-start font-normal"
              >
                <bdi>{titleOf(of, row.name)}</bdi>
              </th>
              {[true, false].map((isConverted) => (
                <td key={String(isConverted)} className={CELL}>
                  <NumberButton
                    label={(isConverted ? words.convertedWith : words.droppedWith)(
                      titleOf(of, row.name),
                    )}
                    number={isConverted ? row.converted : row.dropped}
                    onOpen={onOpen && (() => onOpen(placeOfCorrelation(of, row.name, isConverted)))}
                  />
                </td>
              ))}
              <td className={CELL}>{words.times(row.odds)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function titleOf(of: Correlated, name: string): string {
  if (of === "events") return plainName(name);
  const [key, value] = propertyOf(name);
  return words.isValue(plainName(key), value);
}
