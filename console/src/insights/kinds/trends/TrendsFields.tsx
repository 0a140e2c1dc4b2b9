import { Plus, X } from "lucide-react";
import { letterOf } from "@/insights/question/model";
import { useStableKeys } from "@/lib/hooks";
import { Button, IconButton } from "@/ui/Button";
import { CONTROL } from "@/ui/classes";
import { Select } from "@/ui/Select";
import { words } from "@/words/insightsTrends";
import type { FieldsProps } from "../kind";
import { type Formula, hasIntervals, isOfWeek, optionsOf, withOptions } from "./options";

const FORMULAS_MAX = 20;
const SMOOTHINGS = [1, 3, 7, 14, 28];

/** Fields for formulas over the series, and for smoothing. */
export function TrendsFields(props: FieldsProps) {
  const { question, onChange, errorAt } = props;
  const { smoothing, display } = optionsOf(question);
  const choices = [...new Set([...SMOOTHINGS, smoothing])].toSorted((a, b) => a - b);
  return (
    <>
      {question.series.length > 0 && !isOfWeek(display) && <Formulas {...props} />}
      {hasIntervals(display) && (
        <div className="flex min-w-0 flex-col gap-1">
          <span className="font-medium">{words.points}</span>
          <Select
            aria-label={words.points}
            value={String(smoothing)}
            options={choices.map((count) => ({
              value: String(count),
              label: count === 1 ? words.notAveraged : words.averageOf(count),
            }))}
            onChange={(value) => onChange(withOptions(question, { smoothing: Number(value) }))}
          />
          <FieldError text={errorAt("trendsFilter__smoothingIntervals")} />
        </div>
      )}
    </>
  );
}

const FieldError = ({ text }: { text: string | undefined }) =>
  text === undefined ? null : <p className="text-bad text-sm">{text}</p>;

function Formulas({ question, onChange, errorAt }: FieldsProps) {
  const { formulas } = optionsOf(question);
  const keys = useStableKeys(formulas.length);
  const change = (next: readonly Formula[]) => onChange(withOptions(question, { formulas: next }));
  const errorOf = (place: number) =>
    errorAt(`trendsFilter__formulas__${place}`) ??
    errorAt(`trendsFilter__formulaNodes__${place}__formula`);
  const suggested = question.series.length > 1 ? "A / B" : "A";
  return (
    <fieldset className="flex min-w-0 flex-col gap-2">
      <legend className="mb-1 font-medium">{words.formulas}</legend>
      {formulas.map((one, place) => (
        <div key={keys.of(place)} className="flex min-w-0 items-start gap-1">
          <div className="flex min-w-0 flex-1 flex-col gap-1">
            <div className="flex min-w-0 gap-1.5">
              <input
                type="text"
                aria-label={words.formula(place + 1)}
                aria-invalid={errorOf(place) !== undefined || undefined}
                value={one.text}
                spellCheck={false}
                onChange={({ target }) =>
                  change(formulas.with(place, { ...one, text: target.value }))
                }
                className={`${CONTROL} min-w-0 flex-1 font-mono`}
              />
              <input
                type="text"
                aria-label={words.nameOfFormula(place + 1)}
                placeholder={words.formulaName}
                value={one.name ?? ""}
                onChange={({ target }) => change(formulas.with(place, named(one, target.value)))}
                className={`${CONTROL} min-w-0 flex-1`}
              />
            </div>
            <FieldError text={errorOf(place)} />
          </div>
          <IconButton
            icon={X}
            label={words.removeFormula(place + 1)}
            onClick={() => {
              keys.remove(place);
              change(formulas.toSpliced(place, 1));
            }}
          />
        </div>
      ))}
      {formulas.length > 0 && (
        <p className="text-ink-3 text-sm">
          {words.letters(question.series.map((_, place) => letterOf(place)).join(", "))}
        </p>
      )}
      {formulas.length < FORMULAS_MAX && (
        <div>
          <Button
            small
            look="quiet"
            icon={Plus}
            onClick={() => change([...formulas, { text: suggested }])}
          >
            {words.addFormula}
          </Button>
        </div>
      )}
    </fieldset>
  );
}

const named = ({ text }: Formula, name: string): Formula =>
  name === "" ? { text } : { text, name };
