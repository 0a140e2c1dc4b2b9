import { useProjectId } from "@/app/session";
import { nameOptions, useGroupTypes } from "@/filters";
import {
  aggregateOf,
  COUNTS,
  isSumPerPerson,
  MATHS,
  type MathName,
  needsProperty,
  OF_PROPERTY,
  PER_PERSON,
  SESSION_DURATION,
  SQL_MATH,
  SUMS_PER_PERSON,
} from "@/insights/question/maths";
import type { Series } from "@/insights/question/model";
import { Combobox } from "@/ui/combobox";
import { ExpressionField } from "@/ui/ExpressionField";
import { plainName } from "@/ui/properties";
import { type Option, Select } from "@/ui/Select";
import { words } from "@/words/insightsBuilder";
import { words as questionWords } from "@/words/insightsQuestion";

interface Props {
  series: Series;
  /** The maths to choose from, over properties of events; undefined: all of them. */
  maths?: readonly MathName[];
  onChange: (series: Series) => void;
  errorAt: (attr: string) => string | undefined;
  /** Whether there is a field for what values are multiplied by. */
  isMultiplied?: boolean;
}

/** What a series counts: events, persons, or the values of a property. */
export function MathField({ series, maths, onChange, errorAt, isMultiplied }: Props) {
  const types = useGroupTypes();
  const { math, groupTypeIndex = 0 } = series;
  const error = errorAt("math") ?? errorAt("math_group_type_index");
  return (
    <>
      <Select
        isSnug
        aria-label={words.math}
        value={math === "unique_group" ? `${math}:${groupTypeIndex}` : math}
        options={optionsOf(maths ?? MATHS, types, groupTypeIndex)}
        onChange={(value) => onChange(withMath(series, value))}
      />
      {needsProperty(math) && (
        <PropertyField
          series={series}
          onChange={onChange}
          errorAt={errorAt}
          ofEventsOnly={maths !== undefined || isSumPerPerson(math)}
        />
      )}
      {needsProperty(math) && (isMultiplied || series.multiplier !== undefined) && (
        <MultiplierField series={series} onChange={onChange} errorAt={errorAt} />
      )}
      {math === SQL_MATH && (
        <ExpressionField
          label={questionWords.sql}
          placeholder={words.anAggregate}
          value={series.sql ?? ""}
          onChange={(sql) => onChange({ ...series, sql })}
          error={errorAt("math_hogql")}
          autoFocus={series.sql === undefined}
        />
      )}
      {error && <p className="text-bad text-sm">{error}</p>}
    </>
  );
}

function MultiplierField({ series, onChange, errorAt }: Props) {
  const { multiplier, ...others } = series;
  const change = (text: string) => {
    const number = Number(text);
    onChange(Number.isFinite(number) && number !== 0 ? { ...others, multiplier: number } : others);
  };
  return (
    <ExpressionField
      label={words.multiplier}
      placeholder={words.aMultiplier}
      value={multiplier === undefined ? "" : String(multiplier)}
      onChange={change}
      error={errorAt("math_multiplier")}
      autoFocus={multiplier === undefined}
    />
  );
}

const OWNERS = [
  { value: "event", label: words.ofEvent },
  { value: "person", label: words.ofPerson },
  { value: "session", label: words.ofSession },
] as const;

function PropertyField({
  series,
  onChange,
  errorAt,
  ofEventsOnly,
}: Props & { ofEventsOnly: boolean }) {
  const projectId = useProjectId();
  const kind = series.isOfPerson ? "person" : "event";
  const isDuration = series.mathProperty === SESSION_DURATION;
  const { isOfPerson: _, mathProperty: __, ...others } = series;
  return (
    <>
      {!isDuration && (
        <div className="min-w-36 flex-1 basis-36">
          <Combobox
            label={words.property}
            hideLabel
            freeEntry
            placeholder={words.property}
            options={nameOptions(projectId, { kind, event: series.event ?? undefined })}
            value={series.mathProperty ?? null}
            labelOf={plainName}
            onChange={(mathProperty) =>
              onChange(mathProperty === null ? series : { ...series, mathProperty })
            }
            error={errorAt("math_property")}
            autoFocus={series.mathProperty === undefined}
          />
        </div>
      )}
      {!ofEventsOnly && (
        <Select
          isSnug
          aria-label={words.owner}
          className="w-auto!"
          value={isDuration ? "session" : kind}
          options={OWNERS}
          onChange={(owner) => onChange(ofOwner(others, owner))}
        />
      )}
    </>
  );
}

/** For sessions, only the duration can be aggregated. */
function ofOwner(series: Series, owner: (typeof OWNERS)[number]["value"]): Series {
  if (owner === "session") return { ...series, mathProperty: SESSION_DURATION };
  return owner === "person" ? { ...series, isOfPerson: true } : series;
}

function optionsOf(
  maths: readonly MathName[],
  types: readonly string[],
  chosenType: number,
): Option<string>[] {
  const isOffered = (math: MathName) => maths.includes(math);
  const groups =
    types.length > 0 ? types : Array.from({ length: chosenType + 1 }, (_, i) => `${i}`);
  return [
    ...COUNTS.filter(isOffered).flatMap((math): Option<string>[] =>
      math === "unique_group"
        ? groups.map((type, index) => ({
            value: `unique_group:${index}`,
            label: questionWords.uniqueGroups(type),
          }))
        : [{ value: math, label: questionWords.maths[math] }],
    ),
    ...OF_PROPERTY.filter(isOffered).map((math) => ({
      value: math,
      label: questionWords.ofProperty(math),
    })),
    ...PER_PERSON.filter(isOffered).map((math) => ({
      value: math,
      label: questionWords.perPerson(aggregateOf(math)),
    })),
    ...SUMS_PER_PERSON.filter(isOffered).map((math) => ({
      value: math,
      label: questionWords.sumPerPerson(aggregateOf(math)),
    })),
    ...(isOffered(SQL_MATH) ? [{ value: SQL_MATH, label: questionWords.sql }] : []),
  ];
}

/** Sums per person are of properties of events. */
function ofEvents({ isOfPerson: _, ...series }: Series): Series {
  const { mathProperty, ...others } = series;
  return mathProperty === SESSION_DURATION ? others : series;
}

function withMath(series: Series, value: string): Series {
  const { groupTypeIndex: _, ...others } = series;
  if (value.startsWith("unique_group:"))
    return { ...others, math: "unique_group", groupTypeIndex: Number(value.split(":")[1]) };
  const math = MATHS.find((one): one is MathName => one === value) ?? "total";
  return isSumPerPerson(math) ? ofEvents({ ...others, math }) : { ...others, math };
}
