import type { Question } from "@/insights/question/model";
import { Select } from "@/ui/Select";
import { words } from "@/words/insightsTrends";
import type { FieldsProps } from "../kind";
import { COUNTRY, DISPLAYS, type Display, optionsOf, withOptions } from "./options";

/** Display options of a trend. */
export function TrendsView({ question, onChange }: FieldsProps) {
  const { display } = optionsOf(question);
  return (
    <Select
      isSnug
      className="w-auto!"
      aria-label={words.display}
      value={display}
      options={DISPLAYS.map((value) => ({ value, label: words.displays[value] }))}
      onChange={(next) => onChange(withDisplay(question, next))}
    />
  );
}

/** Return the question with another chart. A world map without a breakdown is broken down by
 * country. */
function withDisplay(question: Question, display: Display): Question {
  const shown = withOptions(question, { display });
  if (display !== "WorldMap" || question.breakdowns.length > 0) return shown;
  return { ...shown, breakdowns: [{ type: "event", property: COUNTRY }] };
}
