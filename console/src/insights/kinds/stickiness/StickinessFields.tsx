import { Switch } from "@/ui/Field";
import { SelectField } from "@/ui/Select";
import { words } from "@/words/insightsStickiness";
import { CountedField } from "../CountedField";
import type { FieldsProps } from "../kind";
import { WholeField } from "../WholeField";
import { EVENTS_MAX, OPERATORS, optionsOf, withOptions } from "./options";

/** Fields for when an interval counts, and what each number counts. */
export function StickinessFields({ question, onChange, errorAt }: FieldsProps) {
  const { criteria, isCumulative } = optionsOf(question);
  const change = (changes: Parameters<typeof withOptions>[1]) =>
    onChange(withOptions(question, changes));
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <CountedField question={question} onChange={onChange} errorAt={errorAt} />
      <div className="grid grid-cols-2 items-start gap-3">
        <SelectField
          label={words.operator(question.interval)}
          value={criteria.operator}
          options={OPERATORS.map((value) => ({ value, label: words.operators[value] }))}
          onChange={(operator) => change({ criteria: { ...criteria, operator } })}
          error={errorAt("stickinessFilter__stickinessCriteria")}
        />
        <WholeField
          label={words.times}
          value={criteria.value}
          least={1}
          most={EVENTS_MAX}
          onChange={(value) => change({ criteria: { ...criteria, value } })}
        />
      </div>
      <Switch
        label={words.computedAs}
        showsLabel
        isOn={isCumulative}
        onChange={(next) => change({ isCumulative: next })}
      />
    </div>
  );
}
