import { RefreshCw } from "lucide-react";
import { Badge, Notice, type Tone } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { Card } from "@/ui/Page";
import { Visible } from "@/ui/properties";
import { Select } from "@/ui/Select";
import { Time } from "@/ui/Time";
import { toastError } from "@/ui/Toast";
import { words as actionWords } from "@/words/experimentActions";
import { words } from "@/words/experimentResults";
import type { Unit } from "@/words/format";
import type { Experiment } from "../queries";
import { type Results, useResultsRefresh } from "../resultQueries";

const TONES: Readonly<Record<Results["verdict"]["code"], Tone>> = {
  not_started: "neutral",
  no_exposures: "warn",
  broken: "bad",
  stop: "bad",
  collecting: "neutral",
  ship: "good",
  keep: "info",
  wait: "neutral",
};

interface Props {
  experiment: Experiment;
  results: Results;
  phase: number | undefined;
  onPhase: (phase: number | undefined) => void;
  unit: Unit;
}

/** What to do, in one sentence, with the reasons and the age of the answer. */
export function Verdict({ experiment, results, phase, onPhase, unit }: Props) {
  const { verdict, planned, method } = results;
  const reasons = verdict.reasons.flatMap((code) => words.reasons[code] ?? []);
  const isBegun = results.status !== "draft";
  return (
    <Card>
      <section aria-label={words.verdict} className="flex flex-col gap-2">
        <div>
          <Badge tone={TONES[verdict.code]}>{words.verdicts[verdict.code]}</Badge>
        </div>
        <p className="font-medium text-lg">
          <Visible text={verdict.sentence} />
        </p>
        {reasons.map((reason) => (
          <p key={reason} className="text-ink-2">
            {reason}
          </p>
        ))}
        {experiment.conclusion && (
          <p className="text-ink-2">
            <Visible
              text={conclusionText(experiment.conclusion, experiment.conclusion_comment ?? "")}
            />
          </p>
        )}
        {method.peeking === "unprotected" && isBegun && (
          <Notice tone="warn">{words.unprotectedMethod}</Notice>
        )}
        {isBegun && (
          <div className="flex flex-wrap items-center gap-x-4 gap-y-2 text-ink-2 text-sm">
            {planned.reached !== null && (
              <span>{words.planned(planned.reached, planned.per_variant, unit)}</span>
            )}
            {method.peeking === "protected" && <span>{words.protectedMethod}</span>}
            <Age experiment={experiment} results={results} phase={phase} />
            {experiment.phases.length > 1 && (
              <Phases count={experiment.phases.length} phase={phase} onPhase={onPhase} />
            )}
          </div>
        )}
      </section>
    </Card>
  );
}

function conclusionText(code: NonNullable<Experiment["conclusion"]>, comment: string): string {
  const text = actionWords.concluded(actionWords.ending.conclusions[code]);
  return comment === "" ? text : `${text}. ${comment}`;
}

function Age({ experiment, results, phase }: Pick<Props, "experiment" | "results" | "phase">) {
  const refresh = useResultsRefresh(experiment.id, phase);
  return (
    <span className="ml-auto flex items-center gap-2">
      {results.as_of !== null && results.as_of !== undefined && (
        <span>
          {words.asOf} <Time at={results.as_of} />
        </span>
      )}
      <Button
        small
        icon={RefreshCw}
        isBusy={refresh.isPending}
        onClick={() => refresh.mutate(undefined, { onError: toastError })}
      >
        {words.refresh}
      </Button>
    </span>
  );
}

interface PhasesProps {
  count: number;
  phase: number | undefined;
  onPhase: Props["onPhase"];
}

function Phases({ count, phase = count - 1, onPhase }: PhasesProps) {
  return (
    <span title={words.phaseHint}>
      <Select
        aria-label={words.phase}
        isSnug
        value={String(phase)}
        options={Array.from({ length: count }, (_, place) => ({
          value: String(place),
          label: words.phaseName(place + 1, count),
        }))}
        onChange={(chosen) => onPhase(Number(chosen) === count - 1 ? undefined : Number(chosen))}
      />
    </span>
  );
}
