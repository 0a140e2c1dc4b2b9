import { Select } from "@/ui/Select";
import { words } from "@/words/insightsFunnels";
import type { FieldsProps } from "../kind";
import { InlineWholeField } from "../WholeField";
import { StepSelect } from "./ExclusionList";
import {
  BINS_MAX,
  type FunnelOptions,
  LAYOUTS,
  optionsOf,
  REFERENCES,
  VISUALIZATIONS,
  withOptions,
} from "./options";

/** The choice of visualization and layout. */
export function FunnelsView({ question, onChange, errorAt }: FieldsProps) {
  const options = optionsOf(question);
  const change = (changes: Partial<FunnelOptions>) => onChange(withOptions(question, changes));
  const error = ["funnelFromStep", "funnelToStep", "binCount", "funnelVizType"]
    .map((name) => errorAt(`funnelsFilter__${name}`))
    .find((one) => one);
  return (
    <>
      <Select
        isSnug
        className="w-auto!"
        aria-label={words.visualization}
        value={options.visualization}
        options={VISUALIZATIONS.map((value) => ({ value, label: words.visualizations[value] }))}
        onChange={(visualization) => change({ visualization })}
      />
      {options.visualization === "steps" ? (
        <>
          <Select
            isSnug
            className="w-auto!"
            aria-label={words.reference}
            value={options.reference}
            options={REFERENCES.map((value) => ({ value, label: words.references[value] }))}
            onChange={(reference) => change({ reference })}
          />
          <Select
            isSnug
            className="w-auto!"
            aria-label={words.layout}
            value={options.layout}
            options={LAYOUTS.map((value) => ({ value, label: words.layouts[value] }))}
            onChange={(layout) => change({ layout })}
          />
        </>
      ) : (
        <PartFields steps={question.series.length} options={options} change={change} />
      )}
      {options.visualization === "time_to_convert" && (
        <span className="flex items-center gap-1.5 text-ink-2">
          {words.bins}
          <InlineWholeField
            label={words.bins}
            value={options.bins}
            least={1}
            most={BINS_MAX}
            placeholder={words.binsAuto}
            onChange={(bins) => change({ bins })}
            onClear={() => change({ bins: undefined })}
            className="w-32"
          />
        </span>
      )}
      {error && (
        <p role="alert" className="basis-full text-bad text-sm">
          {error}
        </p>
      )}
    </>
  );
}

interface PartProps {
  steps: number;
  options: FunnelOptions;
  change: (changes: Partial<FunnelOptions>) => void;
}

/** The range of steps that is measured. */
function PartFields({ steps, options, change }: PartProps) {
  const last = steps - 1;
  if (last < 1) return null;
  const { from = 0, to = last } = options;
  const set = (nextFrom: number, nextTo: number) =>
    change({
      from: nextFrom === 0 ? undefined : nextFrom,
      to: nextTo === last ? undefined : nextTo,
    });
  return (
    <span className="flex items-center gap-1.5 text-ink-2">
      {words.from}
      <StepSelect
        label={words.from}
        value={from}
        least={0}
        most={last - 1}
        onChange={(next) => set(next, Math.max(to, next + 1))}
      />
      {words.to}
      <StepSelect
        label={words.to}
        value={to}
        least={1}
        most={last}
        onChange={(next) => set(Math.min(from, next - 1), next)}
      />
    </span>
  );
}
