import { Switch } from "@/ui/Field";
import { SelectField } from "@/ui/Select";
import { words } from "@/words/insightsRetention";
import { CountedField } from "../CountedField";
import type { FieldsProps } from "../kind";
import { WholeField } from "../WholeField";
import { BracketsField } from "./BracketsField";
import {
  INTERVALS_MAX,
  OCCURRENCES_MAX,
  optionsOf,
  showsValues,
  TYPES,
  withOptions,
} from "./options";
import { entitiesOf, periodOf } from "./query";
import { ValueFields } from "./ValueFields";

/** Fields for who starts and what counts as returning. */
export function RetentionFields({ question, onChange, errorAt }: FieldsProps) {
  const options = optionsOf(question);
  const hasValues = showsValues(options);
  const change = (changes: Partial<typeof options>) => onChange(withOptions(question, changes));
  return (
    <div className="flex min-w-0 flex-col gap-3">
      {question.series.length === 1 && <p className="text-ink-3 text-sm">{words.noReturning}</p>}
      <CountedField question={question} onChange={onChange} errorAt={errorAt} />
      <SelectField
        label={words.type}
        value={options.type}
        options={TYPES.map((value) => ({ value, label: words.types[value] }))}
        onChange={(type) => change({ type })}
        error={errorAt("retentionFilter__retentionType")}
      />
      <div className="grid grid-cols-2 items-start gap-3 empty:hidden">
        {options.brackets.length === 0 && (
          <WholeField
            label={words.intervals}
            value={options.intervals}
            least={1}
            most={INTERVALS_MAX}
            onChange={(intervals) => change({ intervals })}
            error={errorAt("retentionFilter__totalIntervals")}
          />
        )}
        {!hasValues && (
          <WholeField
            label={words.occurrences}
            value={options.occurrences}
            least={1}
            most={OCCURRENCES_MAX}
            onChange={(occurrences) => change({ occurrences })}
            error={errorAt("retentionFilter__minimumOccurrences")}
          />
        )}
      </div>
      <BracketsField
        period={periodOf(question)}
        brackets={options.brackets}
        onChange={(brackets) => change({ brackets })}
        error={errorAt("retentionFilter__retentionCustomBrackets")}
      />
      <Switch
        label={words.windows[periodOf(question)]}
        showsLabel
        isOn={options.hasWindows}
        onChange={(hasWindows) => change({ hasWindows })}
      />
      {!hasValues && (
        <Switch
          label={words.cumulative}
          showsLabel
          isOn={options.isCumulative}
          onChange={(isCumulative) => change({ isCumulative })}
        />
      )}
      <ValueFields
        options={options}
        event={entitiesOf(question).returning?.event ?? undefined}
        onChange={change}
        errorAt={errorAt}
      />
      {["targetEntity", "returningEntity"].map((name) => {
        const error = errorAt(`retentionFilter__${name}`);
        return error === undefined ? null : (
          <p key={name} className="text-bad text-sm">
            {error}
          </p>
        );
      })}
    </div>
  );
}
