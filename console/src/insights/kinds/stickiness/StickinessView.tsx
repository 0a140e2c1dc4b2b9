import { Select } from "@/ui/Select";
import { words } from "@/words/insightsStickiness";
import type { FieldsProps } from "../kind";
import { DISPLAYS, FORMATS, optionsOf, withOptions } from "./options";

/** Display options of stickiness. */
export function StickinessView({ question, onChange }: FieldsProps) {
  const { display, format } = optionsOf(question);
  return (
    <>
      <Select
        isSnug
        className="w-auto!"
        aria-label={words.display}
        value={display}
        options={DISPLAYS.map((value) => ({ value, label: words.displays[value] }))}
        onChange={(next) => onChange(withOptions(question, { display: next }))}
      />
      <Select
        isSnug
        className="w-auto!"
        aria-label={words.format}
        value={format}
        options={FORMATS.map((value) => ({ value, label: words.formats[value] }))}
        onChange={(next) => onChange(withOptions(question, { format: next }))}
      />
    </>
  );
}
