import { Checkbox } from "@/ui/Field";
import { words } from "@/words/insightsLifecycle";
import type { FieldsProps } from "../kind";
import { optionsOf, STATUSES, toggled } from "./options";

/** Chooses which statuses are shown. */
export function LifecycleView({ question, onChange }: FieldsProps) {
  const shown = optionsOf(question);
  return (
    <fieldset className="flex flex-wrap items-center gap-x-4 gap-y-1">
      <legend className="sr-only">{words.shown}</legend>
      {STATUSES.map((status) => (
        <Checkbox
          key={status}
          label={words.statuses[status]}
          checked={shown.includes(status)}
          disabled={shown.length === 1 && shown.includes(status)}
          onChange={() => onChange(toggled(question, status))}
        />
      ))}
    </fieldset>
  );
}
