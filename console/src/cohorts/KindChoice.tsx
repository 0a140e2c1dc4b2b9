import { RadioList } from "@/ui/RadioList";
import { words } from "@/words/cohorts";

const WORDS = words.form;

/** frozen: static, with those who match the criteria now */
export type CohortSource = "dynamic" | "static" | "frozen";

const SOURCES = [
  { value: "dynamic", label: WORDS.dynamic, hint: WORDS.dynamicHint },
  { value: "static", label: WORDS.static, hint: WORDS.staticHint },
  { value: "frozen", label: WORDS.frozen, hint: WORDS.frozenHint },
] as const;

interface Props {
  value: CohortSource;
  onChange: (source: CohortSource) => void;
}

export const KindChoice = ({ value, onChange }: Props) => (
  <RadioList label={WORDS.kind} value={value} options={SOURCES} onChange={onChange} />
);
