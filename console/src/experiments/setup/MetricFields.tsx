import { FIRST, InlineWholeField, type Series, SeriesList, type Uses } from "@/insights";
import { Disclosure } from "@/ui/Disclosure";
import { TextField } from "@/ui/Field";
import { Select } from "@/ui/Select";
import { words } from "@/words/experiments";
import {
  changedMetric,
  GOALS,
  MATHS,
  METRIC_TYPES,
  type Metric,
  placeInMetric,
  UNITS,
} from "./metric";

const WORDS = words.metric;
const WINDOW_MAX = 10_000;
const STEPS_MAX = 20;
const DAYS_MAX = 365;

interface Props {
  metric: Metric;
  /** The name of the metric in labels: "Primary metric". */
  label: string;
  onChange: (metric: Metric) => void;
  /** The error of a field, by its place in the metric. */
  errorAt: (place: string) => string | undefined;
}

/** What one metric measures. */
export function MetricFields({ metric, label, onChange, errorAt }: Props) {
  const { type, series, second } = metric;
  const change = (values: Parameters<typeof changedMetric>[1]) =>
    onChange(changedMetric(metric, values));
  const needsTwo = type === "ratio" || type === "retention";
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <div className="flex min-w-0 flex-wrap items-center gap-1.5">
        <Select
          isSnug
          aria-label={WORDS.typeOf(label)}
          className="w-auto!"
          value={type}
          options={METRIC_TYPES.map((value) => ({ value, label: WORDS.types[value] }))}
          onChange={(next) => change({ type: next })}
        />
        <Select
          isSnug
          aria-label={WORDS.goalOf(label)}
          className="w-auto!"
          value={metric.goal}
          options={GOALS.map((value) => ({ value, label: WORDS.goals[value] }))}
          onChange={(goal) => change({ goal })}
        />
      </div>
      <p className="text-ink-3 text-sm">{WORDS.hints[type]}</p>
      <Events
        series={series}
        uses={USES[type][0]}
        onChange={(next) => change({ series: next })}
        errorAt={(attr) => errorAt(placeInMetric(type, false, attr))}
      />
      {needsTwo && (
        <Events
          series={second}
          uses={USES[type][1]}
          onChange={(next) => change({ second: next })}
          errorAt={(attr) => errorAt(placeInMetric(type, true, attr))}
        />
      )}
      {type === "retention" && <Days metric={metric} onChange={change} />}
      <Disclosure summary={WORDS.more}>
        <div className="flex min-w-0 flex-col gap-3">
          <TextField
            label={WORDS.name}
            isOptional
            value={metric.name}
            onChange={({ target }) => change({ name: target.value })}
            error={errorAt("name")}
          />
          <Window metric={metric} onChange={change} />
        </div>
      </Disclosure>
    </div>
  );
}

const one = (title: string, hasMath: boolean): Uses["series"] => ({
  least: 1,
  most: 1,
  hasMath,
  maths: MATHS,
  title,
  one: title,
  mark: () => "1",
});

const STEPS: Uses["series"] = {
  least: 1,
  most: STEPS_MAX,
  hasMath: false,
  title: WORDS.steps,
  one: WORDS.step,
  mark: (place) => String(place + 1),
};
const USES = {
  funnel: [STEPS, STEPS],
  mean: [one(WORDS.event, true), STEPS],
  ratio: [one(WORDS.numerator, true), one(WORDS.denominator, true)],
  retention: [one(WORDS.start, false), one(WORDS.completion, false)],
} as const;

interface EventsProps {
  series: readonly Series[];
  uses: Uses["series"];
  onChange: (series: readonly Series[]) => void;
  errorAt: (attr: string) => string | undefined;
}

/** The events of a metric, in the editor of insights. */
function Events({ series, uses, onChange, errorAt }: EventsProps) {
  return (
    <SeriesList
      question={{ ...FIRST, series }}
      uses={uses}
      onChange={(question) => onChange(question.series)}
      errorAt={errorAt}
    />
  );
}

interface ChangeProps {
  metric: Metric;
  onChange: (values: Parameters<typeof changedMetric>[1]) => void;
}

function Days({ metric, onChange }: ChangeProps) {
  const { from, to } = metric;
  return (
    <div className="flex min-w-0 flex-wrap items-center gap-1.5">
      <span>{WORDS.comesBack}</span>
      <InlineWholeField
        label={WORDS.firstDay}
        className="w-16"
        value={from}
        least={0}
        most={to}
        onChange={(next) => onChange({ from: next })}
      />
      <span>{WORDS.toDay}</span>
      <InlineWholeField
        label={WORDS.lastDay}
        className="w-16"
        value={to}
        least={from}
        most={DAYS_MAX}
        onChange={(next) => onChange({ to: next })}
      />
      <span>{WORDS.daysLater}</span>
    </div>
  );
}

function Window({ metric, onChange }: ChangeProps) {
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <span className="font-medium">{WORDS.window}</span>
      <div className="flex min-w-0 flex-wrap items-center gap-1.5">
        <InlineWholeField
          label={WORDS.window}
          placeholder={WORDS.noWindow}
          className="w-20"
          value={metric.window ?? undefined}
          least={1}
          most={WINDOW_MAX}
          onChange={(window) => onChange({ window })}
          onClear={() => onChange({ window: null })}
        />
        <Select
          isSnug
          aria-label={WORDS.windowUnit}
          className="w-auto!"
          value={metric.windowUnit}
          options={UNITS.map((value) => ({ value, label: WORDS.units[value] }))}
          onChange={(windowUnit) => onChange({ windowUnit })}
        />
      </div>
      <p className="text-ink-3 text-sm">{WORDS.windowHint}</p>
    </div>
  );
}
