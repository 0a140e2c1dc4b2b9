import { useState } from "react";
import { useProjectId } from "@/app/session";
import { Combobox } from "@/ui/combobox";
import { ExpressionField } from "@/ui/ExpressionField";
import { Checkbox } from "@/ui/Field";
import { plainName } from "@/ui/properties";
import { Select } from "@/ui/Select";
import { words } from "@/words/filters";
import { flagOptions, nameOptions } from "./api";
import { filterProblems } from "./check";
import {
  ELEMENT_KEYS,
  type ElementKey,
  emptyFilter,
  type FilterKind,
  type FilterUse,
  type Operator,
  type PropertyFilter,
} from "./model";
import { useFilterNames, useGroupTypes } from "./names";
import { operatorsOf, withOperator } from "./operators";
import { ValueEditor } from "./ValueEditor";

export interface PropertyFilterEditorProps {
  filter: PropertyFilter;
  onChange: (filter: PropertyFilter) => void;
  use: FilterUse;
  /** Kinds to choose from; by default that of the filter alone. */
  allowed?: readonly FilterKind[];
  /** Whose properties are completed, for conditions on events. */
  event?: string;
  /** Messages beside the fields, also before the focus has left the condition. */
  showProblems?: boolean;
  disabled?: boolean;
  /** The name of the property has the focus at first. */
  autoFocus?: boolean;
}

/** One condition: of what, which property, how compared, with what. */
export function PropertyFilterEditor(props: PropertyFilterEditorProps) {
  const { filter, onChange, use, disabled = false, allowed = [filter.type] } = props;
  const projectId = useProjectId();
  const names = useFilterNames([filter]);
  const [wasLeft, setWasLeft] = useState(false);
  const groupTypes = useGroupTypes(allowed.includes("group") && allowed.length > 1);
  const problems = props.showProblems || wasLeft ? filterProblems(filter) : {};
  const operators = operatorsOf(filter);
  const kinds = kindOptions(allowed, groupTypes, filter);

  return (
    <fieldset
      className="m-0 flex min-w-0 flex-wrap items-start gap-1.5 border-0 p-0"
      disabled={disabled}
      onBlur={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget)) setWasLeft(true);
      }}
    >
      {kinds.length > 1 && (
        <div className="max-w-full">
          <Select
            isSnug
            aria-label={words.kind}
            value={kindValue(filter.type, filter.group_type_index)}
            options={kinds}
            disabled={disabled}
            onChange={(value) => {
              const [kind, index] = readKind(value);
              onChange(emptyFilter(kind, index));
            }}
          />
        </div>
      )}
      {filter.type === "hogql" && (
        <ExpressionField
          label={words.kinds.hogql}
          placeholder={words.expressionPlaceholder}
          value={filter.key}
          onChange={(key) => onChange({ ...filter, key })}
          error={problems.key}
          disabled={disabled}
          autoFocus={props.autoFocus ?? false}
        />
      )}
      {filter.type === "element" && (
        <div className="max-w-full">
          <Select
            isSnug
            aria-label={words.elementKey}
            value={filter.key as ElementKey}
            options={ELEMENT_KEYS.map((key) => ({ value: key, label: words.elementKeys[key] }))}
            disabled={disabled}
            onChange={(key) => onChange(withElementKey(filter, key))}
          />
        </div>
      )}
      {!["cohort", "segment", "element", "hogql"].includes(filter.type) && (
        <div className="min-w-36 flex-1 basis-36">
          <Combobox
            label={filter.type === "flag" ? words.flagPicker : words.property}
            hideLabel
            freeEntry={filter.type !== "flag"}
            placeholder={filter.type === "flag" ? words.flagPicker : words.propertyPlaceholder}
            options={
              filter.type === "flag"
                ? flagOptions(projectId)
                : nameOptions(projectId, {
                    kind: filter.type,
                    groupTypeIndex: filter.group_type_index,
                    event: props.event,
                  })
            }
            value={filter.key === "" ? null : filter.key}
            labelOf={filter.type === "flag" ? (key) => names.flag?.(key) ?? key : plainName}
            onChange={(key) => onChange(withKey(filter, key ?? ""))}
            error={problems.key}
            disabled={disabled}
            autoFocus={props.autoFocus ?? false}
          />
        </div>
      )}
      {operators.length > 1 && (
        <div className="max-w-full">
          <Select
            isSnug
            aria-label={words.operator}
            value={shownOperator(filter)}
            options={operators.map((operator) => ({
              value: operator,
              label: words.operators[operator],
            }))}
            disabled={disabled}
            onChange={(operator) => onChange(withOperator(filter, operator, use))}
          />
        </div>
      )}
      {filter.negation && (
        <Checkbox
          className="py-1.5"
          label={words.negated}
          checked
          disabled={disabled}
          onChange={() => onChange(withoutNegation(filter))}
        />
      )}
      <ValueEditor
        filter={filter}
        onChange={onChange}
        use={use}
        event={props.event}
        problem={problems.value}
        disabled={disabled}
      />
    </fieldset>
  );
}

/** Older conditions on cohorts have `exact` for `in`. */
function shownOperator({ type, operator }: PropertyFilter): Operator {
  return type === "cohort" && operator === "exact" ? "in" : operator;
}

/** Values of one property say nothing about another. */
function withKey(filter: PropertyFilter, key: string): PropertyFilter {
  if (key === filter.key || filter.type === "flag") return { ...filter, key };
  const { value: _, ...rest } = filter;
  return { ...rest, key };
}

/** Tags and selectors have fewer comparisons. */
function withElementKey(filter: PropertyFilter, key: ElementKey): PropertyFilter {
  const next = withKey(filter, key);
  return operatorsOf(next).includes(next.operator) ? next : { ...next, operator: "exact" };
}

function kindOptions(
  allowed: readonly FilterKind[],
  groupTypes: readonly string[],
  filter: PropertyFilter,
) {
  const kinds = allowed.includes(filter.type) ? allowed : [filter.type, ...allowed];
  return kinds.flatMap((kind) =>
    kind === "group" && groupTypes.length > 0
      ? groupTypes.map((type, index) => ({
          value: kindValue(kind, index),
          label: words.groupKind(type),
        }))
      : [{ value: kindValue(kind, filter.group_type_index), label: words.kinds[kind] }],
  );
}

type KindValue = FilterKind | `group:${number}`;

function kindValue(kind: FilterKind, groupTypeIndex: number | undefined): KindValue {
  return kind === "group" ? `group:${groupTypeIndex ?? 0}` : kind;
}

function readKind(value: KindValue): [kind: FilterKind, index: number | undefined] {
  if (!value.startsWith("group:")) return [value as FilterKind, undefined];
  return ["group", Number(value.slice("group:".length))];
}

function withoutNegation({ negation: _, ...filter }: PropertyFilter): PropertyFilter {
  return filter;
}
