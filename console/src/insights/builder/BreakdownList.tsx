import { Plus, X } from "lucide-react";
import { useState } from "react";
import { useProjectId } from "@/app/session";
import { cohortOptions, nameOptions, useGroupTypes } from "@/filters";
import type { Breakdown, Question } from "@/insights/question/model";
import type { Names } from "@/insights/question/sentence";
import { useStableKeys } from "@/lib/hooks";
import { Button, IconButton } from "@/ui/Button";
import { Combobox, type OptionSource } from "@/ui/combobox";
import { ExpressionField } from "@/ui/ExpressionField";
import { Checkbox } from "@/ui/Field";
import { plainName } from "@/ui/properties";
import { type Option, Select } from "@/ui/Select";
import { words } from "@/words/insightsBuilder";

interface Props {
  question: Question;
  most: number;
  hasRanges: boolean;
  names: Names;
  /** The number of values shown unless the question sets it. */
  usualLimit: number;
  onChange: (question: Question) => void;
  errorAt: (attr: string) => string | undefined;
}

const COHORTS_MAX = 20;

/** What the numbers are broken down by. */
export function BreakdownList({ question, onChange, errorAt, ...props }: Props) {
  const { most, usualLimit, hasRanges, names } = props;
  const { breakdowns } = question;
  const keys = useStableKeys(breakdowns.length);
  const [added, setAdded] = useState<number | null>(null);
  const change = (next: readonly Breakdown[]) => onChange({ ...question, breakdowns: next });
  const areCohorts = breakdowns.length > 0 && breakdowns.every(({ type }) => type === "cohort");
  const canAdd = breakdowns.length < (areCohorts ? COHORTS_MAX : most);
  const error = errorAt("breakdownFilter");
  return (
    <fieldset className="flex min-w-0 flex-col gap-2">
      <legend className="mb-1 font-medium">{words.breakdown}</legend>
      {breakdowns.length > 0 && (
        <ol className="flex min-w-0 flex-col gap-2">
          {breakdowns.map((one, place) => (
            <li key={keys.of(place)} className="flex min-w-0 items-start gap-1">
              <BreakdownRow
                breakdown={one}
                names={names}
                hasRanges={hasRanges}
                isNew={added === place}
                onChange={(next) => change(breakdowns.with(place, next))}
              />
              <IconButton
                icon={X}
                label={words.removeBreakdown(plainName(one.property))}
                onClick={() => {
                  keys.remove(place);
                  change(breakdowns.toSpliced(place, 1));
                }}
              />
            </li>
          ))}
        </ol>
      )}
      {canAdd && (
        <div>
          <Button
            small
            look="quiet"
            icon={Plus}
            onClick={() => {
              setAdded(breakdowns.length);
              change([...breakdowns, { type: areCohorts ? "cohort" : "event", property: "" }]);
            }}
          >
            {words.addBreakdown}
          </Button>
        </div>
      )}
      {breakdowns.length > 0 && !areCohorts && (
        <Limits question={question} usual={usualLimit} onChange={onChange} />
      )}
      {error && <p className="text-bad text-sm">{error}</p>}
    </fieldset>
  );
}

const LIMITS = [5, 10, 25, 50, 100, 250, 500];

/** How many values are shown, and whether the rest are added up. */
function Limits(props: Pick<Props, "question" | "onChange"> & { usual: number }) {
  const { question, usual, onChange } = props;
  const { breakdownLimit = usual, hidesOther } = question;
  const limits = [...new Set([...LIMITS, breakdownLimit])].toSorted((a, b) => a - b);
  return (
    <div className="flex min-w-0 flex-wrap items-center gap-x-4 gap-y-1">
      <Select
        isSnug
        className="w-auto!"
        aria-label={words.limit}
        value={String(breakdownLimit)}
        options={limits.map((one) => ({ value: String(one), label: words.atMost(one) }))}
        onChange={(value) => onChange({ ...question, breakdownLimit: Number(value) })}
      />
      <Checkbox
        label={words.hideOther}
        checked={hidesOther ?? false}
        onChange={(isHidden) => {
          const { hidesOther: _, ...others } = question;
          onChange(isHidden ? { ...others, hidesOther: true } : others);
        }}
      />
    </div>
  );
}

interface RowProps {
  breakdown: Breakdown;
  hasRanges: boolean;
  names: Names;
  isNew: boolean;
  onChange: (breakdown: Breakdown) => void;
}

function BreakdownRow({ breakdown, hasRanges, names, isNew, onChange }: RowProps) {
  const projectId = useProjectId();
  const types = useGroupTypes();
  const { type, property, groupTypeIndex } = breakdown;
  const isCohort = type === "cohort";
  const labelOf = (value: string) => {
    if (!isCohort) return plainName(value);
    return value === "all" ? words.everyone : names.cohort?.(value);
  };
  return (
    <div className="flex min-w-0 flex-1 flex-wrap gap-1.5">
      <Select
        isSnug
        className="w-auto!"
        aria-label={words.breakdownKind}
        value={type === "group" ? `group:${groupTypeIndex ?? 0}` : type}
        options={kindOptions(types)}
        onChange={(value) => onChange(ofKind(value))}
      />
      {type === "hogql" ? (
        <ExpressionField
          label={words.breakdownKinds.hogql}
          placeholder={words.anExpression}
          value={property}
          onChange={(next) => onChange({ ...breakdown, property: next })}
          autoFocus={isNew}
        />
      ) : (
        <div className="min-w-36 flex-1 basis-36">
          <Combobox
            label={isCohort ? words.breakdownKinds.cohort : words.property}
            hideLabel
            freeEntry={!isCohort}
            placeholder={isCohort ? words.breakdownKinds.cohort : words.property}
            options={
              isCohort
                ? withEveryone(cohortOptions(projectId))
                : nameOptions(projectId, { kind: type, groupTypeIndex })
            }
            value={property === "" ? null : property}
            labelOf={labelOf}
            onChange={(next) => onChange({ ...breakdown, property: next ?? "" })}
            autoFocus={isNew}
          />
        </div>
      )}
      {hasRanges && !isCohort && property !== "" && (
        <Bins breakdown={breakdown} onChange={onChange} />
      )}
    </div>
  );
}

const BINS = [4, 5, 10, 20];

/** Groups numeric values into ranges, each with its own result. */
function Bins({ breakdown, onChange }: Pick<RowProps, "breakdown" | "onChange">) {
  const { bins, ...others } = breakdown;
  const counts = [...new Set(bins === undefined ? BINS : [...BINS, bins])].toSorted(
    (a, b) => a - b,
  );
  return (
    <Select
      isSnug
      className="w-auto!"
      aria-label={words.bins}
      value={String(bins ?? "")}
      options={[
        { value: "", label: words.binsNone },
        ...counts.map((one) => ({ value: String(one), label: words.binsOf(one) })),
      ]}
      onChange={(value) => onChange(value === "" ? others : { ...others, bins: Number(value) })}
    />
  );
}

function kindOptions(types: readonly string[]): Option<string>[] {
  const { group, ...kinds } = words.breakdownKinds;
  const groups = types.map((type, index) => ({ value: `group:${index}`, label: group(type) }));
  return [
    { value: "event", label: kinds.event },
    { value: "person", label: kinds.person },
    ...groups,
    { value: "session", label: kinds.session },
    { value: "cohort", label: kinds.cohort },
    { value: "hogql", label: kinds.hogql },
  ];
}

function ofKind(value: string): Breakdown {
  if (value.startsWith("group:"))
    return { type: "group", property: "", groupTypeIndex: Number(value.split(":")[1]) };
  return { type: value as Breakdown["type"], property: "" };
}

function withEveryone(source: OptionSource): OptionSource {
  const everyone = { value: "all", label: words.everyone };
  return {
    key: [...source.key, "everyone"],
    load: async (search, signal) => {
      const found = await source.load(search, signal);
      return search === "" ? [everyone, ...found] : found;
    },
  };
}
