import { useProject } from "@/app/session";
import type { FieldsProps, Kind } from "@/insights/kinds/kind";
import { INTERVALS } from "@/insights/question/address";
import type { Question } from "@/insights/question/model";
import { DateRangeField } from "@/ui/DateRange";
import { type Option, Select } from "@/ui/Select";
import { words } from "@/words/insightsBuilder";
import { words as questionWords } from "@/words/insightsQuestion";

const PRESETS = [
  ...(["dStart", "-1dStart -1dEnd", "-24h", "-7d", "-30d", "-90d", "mStart"] as const),
  ...(["-1mStart -1mEnd", "-12m", ""] as const),
];

/** The bar above the result: period, interval, comparison and chart. */
export function ScopeBar({ kind, ...fields }: FieldsProps & { kind: Kind }) {
  const { question, onChange, errorAt } = fields;
  const project = useProject();
  const uses = kind.uses(question);
  const error = ["dateRange", "interval", "compareFilter"].map(errorAt).find((one) => one);
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <div className="flex min-w-0 flex-wrap items-center gap-2">
        <DateRangeField
          value={{ range: question.dates, isCompared: false, isUnknown: false }}
          zone={project?.timezone ?? "UTC"}
          presets={PRESETS}
          onChange={({ from, to }) =>
            onChange({
              ...question,
              dates: { ...(from !== undefined && { from }), ...(to !== undefined && { to }) },
            })
          }
        />
        {uses.intervals.length > 0 && (
          <Select
            isSnug
            className="w-auto!"
            aria-label={words.interval}
            value={question.interval}
            options={uses.intervals.map((value) => ({ value, label: words.intervals[value] }))}
            onChange={(value) =>
              onChange({ ...question, interval: INTERVALS.find((one) => one === value) ?? "day" })
            }
          />
        )}
        {uses.compares && (
          <Select
            isSnug
            className="w-auto!"
            aria-label={words.compare}
            value={compareValue(question)}
            options={compareOptions(question)}
            onChange={(value) => onChange(withCompare(question, value))}
          />
        )}
        {kind.View && <kind.View {...fields} />}
      </div>
      {error && <p className="text-bad text-sm">{error}</p>}
    </div>
  );
}

const compareValue = ({ compare }: Question): string => {
  if (compare === undefined) return "none";
  return compare === true ? "previous" : compare;
};

function compareOptions(question: Question): Option<string>[] {
  const chosen = compareValue(question);
  const usual = Object.entries(words.compares).map(([value, label]) => ({ value, label }));
  if (usual.some(({ value }) => value === chosen)) return usual;
  const label = words.compareOther(questionWords.distance(chosen));
  return [...usual, { value: chosen, label }];
}

function withCompare(question: Question, value: string): Question {
  const { compare: _, ...others } = question;
  if (value === "none") return others;
  return { ...others, compare: value === "previous" ? true : value };
}
