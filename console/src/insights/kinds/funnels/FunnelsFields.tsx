import type { Question } from "@/insights/question/model";
import { Field } from "@/ui/Field";
import { type Option, Select, SelectField } from "@/ui/Select";
import { words } from "@/words/insightsFunnels";
import { CountedField } from "../CountedField";
import type { FieldsProps } from "../kind";
import { InlineWholeField } from "../WholeField";
import { ExclusionList } from "./ExclusionList";
import {
  ATTRIBUTIONS,
  type FunnelOptions,
  ORDERS,
  optionsOf,
  SESSIONS,
  UNITS,
  windowMax,
  withOptions,
} from "./options";

/** How persons go through the steps: order, time window and exclusions. */
export function FunnelsFields({ question, onChange, errorAt }: FieldsProps) {
  const options = optionsOf(question);
  const change = (changes: Partial<FunnelOptions>) => onChange(withOptions(question, changes));
  const errors = ["funnelOrderType", "funnelWindowInterval", "funnelWindowIntervalUnit"].map(
    (name) => errorAt(`funnelsFilter__${name}`),
  );
  const error = errors.find((one) => one);
  return (
    <>
      <ExclusionList
        question={question}
        exclusions={options.exclusions}
        onChange={(exclusions) => change({ exclusions })}
        errorAt={errorAt}
      />
      <fieldset className="flex min-w-0 flex-col gap-2">
        <legend className="mb-1 font-medium">{words.options}</legend>
        <Select
          aria-label={words.order}
          value={options.order}
          options={ORDERS.map((value) => ({ value, label: words.orders[value] }))}
          onChange={(order) => change({ order })}
        />
        <div className="flex min-w-0 flex-wrap items-start gap-1.5">
          <span className="py-1.5 text-ink-2">{words.withinField}</span>
          <InlineWholeField
            label={words.window}
            value={options.window}
            least={1}
            most={windowMax(options.unit)}
            onChange={(window) => change({ window })}
            className="min-w-16 flex-1 basis-16"
          />
          <Select
            isSnug
            className="w-auto!"
            aria-label={words.unit}
            value={options.unit}
            options={UNITS.map((value) => ({ value, label: words.units[value] }))}
            onChange={(unit) => change({ unit, window: Math.min(options.window, windowMax(unit)) })}
          />
          <span className="py-1.5 text-ink-2">{words.ofFirstStep}</span>
        </div>
        <CountedField question={question} onChange={onChange} errorAt={errorAt} />
        {question.groupTypeIndex === undefined && (
          <SelectField
            label={words.stepsOf}
            value={options.countedBy ?? PERSON}
            options={countedOptions(options.countedBy)}
            onChange={(value) => change({ countedBy: value === PERSON ? undefined : value })}
            error={errorAt("funnelsFilter__funnelAggregateByHogQL")}
          />
        )}
        {error && <p className="text-bad text-sm">{error}</p>}
      </fieldset>
      {question.breakdowns.length > 0 && (
        <Field
          label={words.attribution}
          error={
            errorAt("funnelsFilter__breakdownAttributionType") ??
            errorAt("funnelsFilter__breakdownAttributionValue")
          }
        >
          {(parts) => (
            <Select
              {...parts}
              aria-label={words.attribution}
              value={attributionValue(options)}
              options={attributionOptions(question)}
              onChange={(value) => change(attributionOf(value))}
            />
          )}
        </Field>
      )}
    </>
  );
}

const PERSON = "";

/** One person, one session, or one value of an expression that another client has chosen. */
function countedOptions(chosen: string | undefined): Option<string>[] {
  const own = chosen === undefined || chosen === SESSIONS ? [] : [chosen];
  return [
    { value: PERSON, label: words.stepsOfPerson },
    { value: SESSIONS, label: words.stepsOfSession },
    ...own.map((value) => ({ value, label: words.stepsOfValue(value) })),
  ];
}

const AT_STEP = "step:";

const attributionValue = ({ attribution, attributionStep }: FunnelOptions): string =>
  attribution === "step" ? `${AT_STEP}${attributionStep}` : attribution;

function attributionOptions({ series }: Question): Option<string>[] {
  const whole = ATTRIBUTIONS.flatMap((value) =>
    value === "step" ? [] : [{ value: value as string, label: words.attributions[value] }],
  );
  const steps = series.map((_, place) => ({
    value: `${AT_STEP}${place}`,
    label: words.attributionOf(place + 1),
  }));
  return [...whole, ...steps];
}

function attributionOf(value: string): Partial<FunnelOptions> {
  if (value.startsWith(AT_STEP))
    return { attribution: "step", attributionStep: Number(value.slice(AT_STEP.length)) };
  return { attribution: ATTRIBUTIONS.find((one) => one === value) ?? "first_touch" };
}
