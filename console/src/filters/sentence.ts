import { plainName } from "@/ui/properties";
import { words } from "@/words/filters";
import { readRelative } from "./dates";
import type { PropertyFilter, Scalar } from "./model";
import { valuesOf } from "./model";
import { inputOf } from "./operators";

/** Names of what filters know by number. */
export interface FilterNames {
  cohort?: (id: string) => string | undefined;
  flag?: (key: string) => string | undefined;
}

/** A sentence in parts, so that names and values can be set as code. */
export type SentencePart = { kind: "text" | "code"; text: string };

/** "`plan` is `pro`", with backticks around names and values. */
export function filterSentence(filter: PropertyFilter, names: FilterNames = {}): string {
  return filterParts(filter, names)
    .map((part) => (part.kind === "code" ? `\`${part.text}\`` : part.text))
    .join(" ");
}

/** All of them, joined by "and". */
export function filtersSentence(
  filters: readonly PropertyFilter[],
  names: FilterNames = {},
): string {
  if (filters.length === 0) return words.everyone;
  return words.all(filters.map((filter) => filterSentence(filter, names)));
}

export function filterParts(filter: PropertyFilter, names: FilterNames = {}): SentencePart[] {
  const parts = [subject(filter, names), text(words.operators[filter.operator] ?? filter.operator)];
  const objects = objectOf(filter, names);
  const sentence = [...parts, ...objects];
  return filter.negation ? [text(words.not), ...sentence] : sentence;
}

function subject(filter: PropertyFilter, names: FilterNames): SentencePart {
  if (filter.type === "cohort") return text(words.who);
  if (filter.type === "flag") return code(words.flag(names.flag?.(filter.key) ?? filter.key));
  return filter.key === "" ? text(words.missing) : code(plainName(filter.key));
}

function objectOf(filter: PropertyFilter, names: FilterNames): SentencePart[] {
  const values = valuesOf(filter);
  const [first, second] = values;
  switch (inputOf(filter)) {
    case "none":
      return [];
    case "cohort": {
      if (first === undefined) return [text(words.nothing)];
      const name = names.cohort?.(String(first));
      return [text(words.cohort), code(name ?? words.cohortId(String(first)))];
    }
    case "flag":
      return [
        code(first === true ? words.on : first === false ? words.off : String(first ?? words.on)),
      ];
    case "range":
      return first === undefined || second === undefined
        ? [text(words.nothing)]
        : [code(String(first)), text(words.and), code(String(second))];
    case "date":
      return first === undefined ? [text(words.nothing)] : [code(dateText(String(first)))];
    default:
      return alternatives(values);
  }
}

const VALUES_NAMED = 5;

function alternatives(values: readonly Scalar[]): SentencePart[] {
  if (values.length === 0) return [text(words.nothing)];
  const named = values.slice(0, VALUES_NAMED);
  const rest = values.length - named.length;
  const parts = named.flatMap((value, place): SentencePart[] => {
    const isLast = place === named.length - 1 && rest === 0;
    const joint = place === 0 ? [] : [text(isLast ? words.or : ",")];
    return [...joint, code(String(value))];
  });
  return rest === 0 ? parts : [...parts, text(words.orMore(rest))];
}

function dateText(value: string): string {
  const relative = readRelative(value);
  return relative === null ? value : words.ago(relative.count, relative.unit);
}

function text(value: string): SentencePart {
  return { kind: "text", text: value };
}

function code(value: string): SentencePart {
  return { kind: "code", text: value };
}
