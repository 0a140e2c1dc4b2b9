import { Select } from "@/ui/Select";
import { words } from "@/words/insightsTrends";
import type { FieldsProps } from "../kind";
import { DISPLAYS, optionsOf, withOptions } from "./options";

/** How the trend is drawn. */
export function TrendsView({ question, onChange }: FieldsProps) {
  const { display } = optionsOf(question);
  return (
    <Select
      isSnug
      className="w-auto!"
      aria-label={words.display}
      value={display}
      options={DISPLAYS.map((value) => ({ value, label: words.displays[value] }))}
      onChange={(next) => onChange(withOptions(question, { display: next }))}
    />
  );
}
