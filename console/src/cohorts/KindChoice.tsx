import { useId } from "react";
import { words } from "@/words/cohorts";

const WORDS = words.form;

/** frozen: static, with those who match the criteria now */
export type CohortSource = "dynamic" | "static" | "frozen";

const SOURCES = ["dynamic", "static", "frozen"] as const;
const HINTS = {
  dynamic: WORDS.dynamicHint,
  static: WORDS.staticHint,
  frozen: WORDS.frozenHint,
} as const;

interface Props {
  value: CohortSource;
  onChange: (source: CohortSource) => void;
}

export function KindChoice({ value, onChange }: Props) {
  const name = useId();
  return (
    <fieldset className="flex flex-col gap-1">
      <legend className="mb-1 font-medium">{WORDS.kind}</legend>
      {SOURCES.map((source) => (
        <label key={source} className="flex items-start gap-2">
          <input
            type="radio"
            name={name}
            checked={value === source}
            onChange={() => onChange(source)}
            className="mt-1 accent-accent"
          />
          <span>
            {WORDS[source]}
            <span className="block text-ink-3 text-sm">{HINTS[source]}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
