import type { Question } from "@/insights/question/model";
import { Select } from "@/ui/Select";
import { words } from "@/words/insightsTrends";
import type { FieldsProps } from "../kind";
import { COUNTRY, DISPLAYS, type Display, optionsOf, withOptions } from "./options";

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
      onChange={(next) => onChange(withDisplay(question, next))}
    />
  );
}

/** A map has numbers of countries. */
function withDisplay(question: Question, display: Display): Question {
  const shown = withOptions(question, { display });
  if (display !== "WorldMap" || question.breakdowns.length > 0) return shown;
  return { ...shown, breakdowns: [{ type: "event", property: COUNTRY }] };
}
