import { useId } from "react";
import { Badge, type Tone } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { Visible } from "@/ui/properties";
import { words as activity } from "@/words/activity";
import { formatNumber } from "@/words/format";
import { words } from "@/words/transfer";
import { COUNTED, type Counted, type ImportReport, totalOf } from "./importReport";

const T = words.import;
const TONES: Record<Counted, Tone> = {
  created: "good",
  updated: "info",
  unchanged: "neutral",
  skipped: "warn",
};

interface Props {
  report: ImportReport;
  isDone: boolean;
  isBusy: boolean;
  onImport: () => void;
}

/** What an import will do or has done: counts by kind, then each difference. */
export function ImportOutcome({ report, isDone, isBusy, onImport }: Props) {
  const id = useId();
  const [created, updated] = [totalOf(report, "created"), totalOf(report, "updated")];
  const changes = created + updated > 0;
  return (
    <section aria-labelledby={id} className="flex min-w-0 flex-col gap-3">
      <h3 id={id} className="font-medium">
        {isDone ? T.report : T.preview}
      </h3>
      <Counts report={report} />
      {!changes && <p className="text-ink-2">{isDone ? T.nothingDone : T.nothing}</p>}
      <Outcomes report={report} />
      {changes && !isDone && (
        <div>
          <Button look="primary" isBusy={isBusy} onClick={onImport}>
            {T.submit(created, updated)}
          </Button>
        </div>
      )}
    </section>
  );
}

function Counts({ report }: { report: ImportReport }) {
  return (
    <div className="overflow-x-auto">
      <table className="w-full text-start">
        <thead>
          <tr className="border-line border-b text-ink-2 text-sm">
            <th scope="col" className="py-1.5 pe-3 text-start font-medium">
              {words.counts.kind}
            </th>
            {COUNTED.map((result) => (
              <th key={result} scope="col" className="py-1.5 ps-3 text-end font-medium">
                {words.counts[result]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {report.counts.map((of) => (
            <tr key={of.kind} className="border-line border-b last:border-b-0">
              <th scope="row" className="py-1.5 pe-3 text-start font-normal">
                {words.kinds[of.kind] ?? of.kind}
              </th>
              {COUNTED.map((result) => (
                <td
                  key={result}
                  className={`py-1.5 ps-3 text-end tabular-nums ${of[result] === 0 ? "text-ink-3" : ""}`}
                >
                  {formatNumber(of[result])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Outcomes({ report: { outcomes, outcomes_left_out: more } }: { report: ImportReport }) {
  if (outcomes.length === 0) return null;
  return (
    <div className="rounded-md border border-line">
      <ul
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must be reachable with the keyboard
        tabIndex={0}
        aria-label={words.outcomes.label}
        className="max-h-80 divide-y divide-line overflow-y-auto"
      >
        {outcomes.map((one, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: members of a cohort may share a name
          <li key={at} className="flex flex-wrap items-baseline gap-x-2 gap-y-0.5 px-3 py-1.5">
            <Badge tone={TONES[one.result]}>{words.outcomes.results[one.result]}</Badge>
            <span className="min-w-0 break-words">
              <Visible text={one.name} />
            </span>
            <span className="text-ink-3 text-sm">
              {words.kinds[one.kind] ?? one.kind}
              {one.count > 1 && ` (${formatNumber(one.count)})`}
            </span>
            {one.why !== "" && (
              <span className="basis-full text-ink-2 text-sm">
                {one.result === "updated" ? fieldsOf(one.why) : one.why}
              </span>
            )}
          </li>
        ))}
      </ul>
      {more > 0 && (
        <p className="border-line border-t px-3 py-1.5 text-ink-2 text-sm">
          {words.outcomes.more(more)}
        </p>
      )}
    </div>
  );
}

/** The changed fields, by their names in the UI. */
const fieldsOf = (names: string): string =>
  names
    .split(", ")
    .map((name) => activity.fields[name] ?? name.replaceAll("_", " "))
    .join(", ");
