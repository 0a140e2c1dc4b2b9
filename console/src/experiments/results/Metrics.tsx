import { Badge, type Tone } from "@/ui/Badge";
import { Disclosure } from "@/ui/Disclosure";
import { Card } from "@/ui/Page";
import { Visible } from "@/ui/properties";
import { words } from "@/words/experimentResults";
import type { Unit } from "@/words/format";
import type { MetricResult, Results, VariantResult } from "../resultQueries";
import { Arm, type Colors } from "./Exposures";
import { IntervalAxis, IntervalChart } from "./IntervalChart";
import {
  type Axis,
  axisOf,
  boundsOf,
  changeText,
  type Outcome,
  outcomeOf,
  problemsOf,
  rangeText,
} from "./intervals";
import { MetricNumbers } from "./MetricNumbers";
import type { OpenPeople } from "./people";

const ROLES = ["primary", "secondary", "guardrail"] as const;
const TONES: Readonly<Record<Outcome, Tone>> = {
  better: "good",
  worse: "bad",
  unclear: "neutral",
  harmed: "bad",
  safe: "good",
  not_harmed_so_far: "neutral",
  none: "neutral",
};

interface Props {
  results: Results;
  colors: Colors;
  unit: Unit;
  onOpen: OpenPeople;
}

/** The metrics by their role, all of whose intervals share one axis. */
export function Metrics(props: Props) {
  const { metrics, method } = props.results;
  if (metrics.length === 0) {
    return (
      <Card>
        <p className="text-ink-2">{words.noMetrics}</p>
      </Card>
    );
  }
  const bounds = metrics.flatMap((metric) =>
    (metric.variants ?? []).flatMap((variant) => boundsOf(variant.lift) ?? []),
  );
  const axis = axisOf(bounds);
  const hints = { ...words.roleHints, primary: words.roleHints.primary(method.comparisons) };
  return ROLES.map((role) => {
    const own = metrics.filter((metric) => metric.role === role);
    return own.length === 0 ? null : (
      <Card key={role} title={words.roles[role]} description={hints[role]}>
        <div className="flex flex-col">
          {own.map((metric, place) => (
            <Metric key={metric.uuid ?? place} metric={metric} axis={axis} {...props} />
          ))}
        </div>
      </Card>
    );
  });
}

interface MetricProps extends Props {
  metric: MetricResult;
  axis: Axis;
}

function Metric(props: MetricProps) {
  const { metric } = props;
  const name = metric.name || words.unnamed;
  const problems = problemsOf(metric, props.unit);
  return (
    <section
      aria-label={name}
      className="flex flex-col gap-2 border-line border-b py-3 first:pt-0 last:border-b-0 last:pb-0"
    >
      <h3 className="flex flex-wrap items-baseline gap-x-2">
        <span className="min-w-0 break-words font-medium">
          <Visible text={name} />
        </span>
        <span className="text-ink-3 text-sm">
          {metric.goal && words.goals[metric.goal]}
          {metric.baseline && ` · ${words.against(metric.baseline.key)}`}
        </span>
      </h3>
      {metric.error ? (
        <p role="alert" className="text-bad">
          {words.failed}: <Visible text={metric.error} />
        </p>
      ) : (
        <Comparisons {...props} />
      )}
      {problems.map((problem) => (
        <p key={problem} className="text-ink-2 text-sm">
          <Visible text={problem} />
        </p>
      ))}
      {metric.baseline && (
        <Disclosure summary={words.numbers}>
          <MetricNumbers {...props} name={name} />
        </Disclosure>
      )}
    </section>
  );
}

const ROW =
  "grid items-center gap-x-4 gap-y-1 grid-cols-[minmax(0,1fr)_auto] md:grid-cols-[minmax(0,10rem)_minmax(0,1fr)_13rem_9rem]";
const CHART = "max-md:col-span-2 max-md:row-start-2";

function Comparisons({ metric, results, colors, axis }: MetricProps) {
  const variants = metric.variants ?? [];
  const isDrawn = variants.some((variant) => boundsOf(variant.lift) !== null);
  return (
    <>
      {variants.map((variant) => (
        <Comparison
          key={variant.key}
          variant={variant}
          outcome={outcomeOf(variant, metric, results)}
          colors={colors}
          axis={axis}
        />
      ))}
      {isDrawn && (
        <div className={ROW}>
          <span className="max-md:hidden" />
          <div className="max-md:col-span-2">
            <IntervalAxis axis={axis} />
          </div>
        </div>
      )}
    </>
  );
}

interface ComparisonProps {
  variant: VariantResult;
  outcome: Outcome;
  colors: Colors;
  axis: Axis;
}

function Comparison({ variant, outcome, colors, axis }: ComparisonProps) {
  const bounds = boundsOf(variant.lift);
  const change = changeText(variant);
  const range = rangeText(variant);
  return (
    <div className={ROW}>
      <Arm name={variant.key} colors={colors} />
      <div className={CHART}>
        {bounds !== null && (
          <IntervalChart
            label={words.interval(variant.key, change ?? words.none, range)}
            bounds={bounds}
            axis={axis}
            color={colors.get(variant.key) ?? 8}
          />
        )}
      </div>
      <p className="max-md:col-span-2 max-md:row-start-3">
        <span className="font-medium tabular-nums">{change ?? words.none}</span>
        <span className="block text-ink-2 text-sm">{range}</span>
      </p>
      <div className="justify-self-end max-md:col-start-2 max-md:row-start-1">
        <Badge tone={TONES[outcome]}>{words.outcomes[outcome]}</Badge>
      </div>
    </div>
  );
}
