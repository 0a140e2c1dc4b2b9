import { Select } from "@/ui/Select";
import { words } from "@/words/insightsRetention";
import type { FieldsProps } from "../kind";
import {
  DISPLAYS,
  MEANS,
  optionsOf,
  REFERENCES,
  type RetentionOptions,
  showsValues,
  withOptions,
} from "./options";

const NUMBERS = [...REFERENCES, "counts"] as const;

const nameOf = (value: (typeof NUMBERS)[number], options: RetentionOptions) =>
  value === "counts" && showsValues(options) ? "numbers" : value;

/** Display options of retention. */
export function RetentionView({ question, onChange }: FieldsProps) {
  const options = optionsOf(question);
  const change = (changes: Partial<typeof options>) => onChange(withOptions(question, changes));
  const snug = { isSnug: true, className: "w-auto!" };
  return (
    <>
      <Select
        {...snug}
        aria-label={words.display}
        value={options.display}
        options={DISPLAYS.map((value) => ({ value, label: words.displays[value] }))}
        onChange={(display) => change({ display })}
      />
      <Select
        {...snug}
        aria-label={words.format}
        value={options.format === "numeric" ? "counts" : options.reference}
        options={NUMBERS.map((value) => ({ value, label: words.formats[nameOf(value, options)] }))}
        onChange={(value) =>
          change(
            value === "counts" ? { format: "numeric" } : { format: "percentage", reference: value },
          )
        }
      />
      <Select
        {...snug}
        aria-label={words.mean}
        value={options.mean}
        options={MEANS.map((value) => ({ value, label: words.means[value] }))}
        onChange={(mean) => change({ mean })}
      />
    </>
  );
}
