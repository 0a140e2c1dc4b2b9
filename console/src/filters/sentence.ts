import { plainName } from "@/ui/properties/names";
import { words } from "@/words/filters";
import { readRelative } from "./dates";
import type { ElementKey, PropertyFilter, Scalar } from "./model";
import { isOfSet, valuesOf } from "./model";
import { inputOf } from "./operators";

/** Names of what conditions know by number. */
export interface FilterNames {
  cohort?: (id: string) => string | undefined;
  segment?: (id: string) => string | undefined;
  flag?: (key: string) => string | undefined;
}

/** A sentence in parts, so that names and values can be set as code. */
export interface SentencePart {
  kind: "text" | "code";
  text: string;
}

/** "`plan` is `pro`", with backticks around names and values. */
export function filterSentence(filter: PropertyFilter, names: FilterNames = {}): string {
  return sentenceText(filterParts(filter, names));
}

/** "people whose `plan` is `pro` and `seats` is at least `10`, who are in the cohort `Trial`". */
export function audienceSentence(
  filters: readonly PropertyFilter[],
  names: FilterNames = {},
  noun: string = words.people,
): string {
  return sentenceText(audienceParts(filters, names, noun));
}

export function sentenceText(parts: readonly SentencePart[]): string {
  const texts = parts.map((part) => (part.kind === "code" ? `\`${part.text}\`` : part.text));
  return texts.join(" ").replaceAll(` ${words.comma}`, words.comma);
}

export function filterParts(filter: PropertyFilter, names: FilterNames = {}): SentencePart[] {
  const parts = [...subjectOf(filter, names), ...predicateOf(filter, names)];
  return filter.negation ? [text(words.not), ...parts] : parts;
}

export function audienceParts(
  filters: readonly PropertyFilter[],
  names: FilterNames = {},
  noun: string = words.people,
): SentencePart[] {
  if (filters.length === 0) return [text(words.everyone(noun))];
  const clause = (opening: string, of: (filter: PropertyFilter) => boolean) => {
    const parts = joined(filters.filter(of).map((filter) => filterParts(filter, names)));
    return parts.length === 0 ? [] : [[text(opening), ...parts]];
  };
  const clauses = [
    ...clause(words.whose, ({ type }) => !isOfSet(type) && type !== "flag"),
    ...clause(words.whoAre, ({ type }) => isOfSet(type)),
    ...clause(words.forWhom, ({ type }) => type === "flag"),
  ];
  const parts = clauses.flatMap((one, place) => (place === 0 ? one : [text(words.comma), ...one]));
  return [text(noun), ...parts];
}

/** "a, b and c" */
function joined(sentences: readonly SentencePart[][]): SentencePart[] {
  const last = sentences.length - 1;
  return sentences.flatMap((parts, place) => {
    if (place === 0) return parts;
    return [text(place === last ? words.and : words.comma), ...parts];
  });
}

function subjectOf(filter: PropertyFilter, names: FilterNames): SentencePart[] {
  if (isOfSet(filter.type)) return [];
  if (filter.key === "") return [text(words.missing)];
  if (filter.type === "flag") {
    return [text(words.theFlag), code(names.flag?.(filter.key) ?? filter.key)];
  }
  if (filter.type === "element")
    return [text(words.elements[filter.key as ElementKey] ?? filter.key)];
  return [code(filter.type === "hogql" ? filter.key : plainName(filter.key))];
}

function predicateOf(filter: PropertyFilter, names: FilterNames): SentencePart[] {
  if (filter.type === "cohort" || filter.type === "segment") {
    const set = filter.operator === "not_in" ? words.notInSet : words.inSet;
    return [text(set[filter.type]), ...setOf(filter, names[filter.type])];
  }
  if (filter.type === "hogql") return [];
  return [text(words.operators[filter.operator]), ...objectOf(filter)];
}

function setOf(filter: PropertyFilter, nameOf: FilterNames["cohort"]): SentencePart[] {
  const [id] = valuesOf(filter);
  if (id === undefined) return [text(words.nothing)];
  const name = nameOf?.(String(id));
  return [name === undefined ? text(words.idOf(String(id))) : code(name)];
}

function objectOf(filter: PropertyFilter): SentencePart[] {
  const values = valuesOf(filter);
  const [first, second] = values;
  const input = inputOf(filter);
  if (input === "none") return [];
  if (first === undefined) return [text(words.nothing)];
  if (input === "flag") {
    return [typeof first === "boolean" ? text(first ? words.on : words.off) : code(String(first))];
  }
  if (input === "date") return [dateOf(String(first))];
  if (input !== "range") return alternatives(values);
  const high = second === undefined ? text(words.nothing) : code(String(second));
  return [code(String(first)), text(words.and), high];
}

const VALUES_NAMED = 5;

function alternatives(values: readonly Scalar[]): SentencePart[] {
  const named = values.slice(0, VALUES_NAMED);
  const rest = values.length - named.length;
  const parts = named.flatMap((value, place): SentencePart[] => {
    const isLast = place === named.length - 1 && rest === 0;
    const joint = place === 0 ? [] : [text(isLast ? words.or : words.comma)];
    return [...joint, code(String(value))];
  });
  return rest === 0 ? parts : [...parts, text(words.orMore(rest))];
}

function dateOf(value: string): SentencePart {
  const relative = readRelative(value);
  return relative === null ? code(value) : text(words.ago(relative.count, relative.unit));
}

function text(value: string): SentencePart {
  return { kind: "text", text: value };
}

function code(value: string): SentencePart {
  return { kind: "code", text: value };
}
