import { type FilterNames, filterParts, type SentencePart } from "@/filters";
import { plainName } from "@/ui/properties";
import { nameOfRange } from "@/ui/ranges";
import { words } from "@/words/insightsQuestion";
import { aggregateOf, isPerPerson, isSumPerPerson, needsProperty, SQL_MATH } from "./maths";
import { type Breakdown, type Question, type Series, type SeriesEvent, USUAL_LIMIT } from "./model";

/** Names for what a question refers to by number. */
export interface Names extends FilterNames {
  groupType: (index: number) => string;
}

type Parts = readonly SentencePart[];

export const text = (value: string): SentencePart => ({ kind: "text", text: value });
export const code = (value: string): SentencePart => ({ kind: "code", text: value });

const optional = (value: string): Parts => (value === "" ? [] : [text(value)]);

const eventPart = ({ event, action }: SeriesEvent): SentencePart => {
  const plain = event === null ? text(words.anyEvent) : code(plainName(event));
  return action === undefined ? plain : code(action.name);
};

/** "`paid` or `refunded` called `Money`" */
export function eventParts({
  name,
  others = [],
  ...first
}: Pick<Series, "event" | "action" | "name" | "others">): Parts {
  const own = [eventPart(first), ...others.flatMap((one) => [text(words.or), eventPart(one)])];
  return name === undefined ? own : [...own, text(words.called), code(name)];
}

/** "how often `signed up` happened", with the conditions of the series. */
export function measureParts(series: Series, names: Names): Parts {
  return [...countParts(series, names), ...whereParts(series.filters, names)];
}

function countParts(series: Series, names: Names): Parts {
  const { math } = series;
  const event = eventParts(series);
  if (needsProperty(math)) {
    const aggregate = aggregateOf(math);
    const isOfSums = isSumPerPerson(math);
    return [
      text(isOfSums ? words.aggregateOfSums(aggregate) : words.aggregateOf(aggregate)),
      ...propertyParts(series),
      ...[text(words.over), ...event],
    ];
  }
  if (math === SQL_MATH) {
    return [code(series.sql ?? "…"), text(words.over), ...event];
  }
  if (isPerPerson(math)) {
    const opening = words.aggregatePerPerson(aggregateOf(math));
    return [text(opening), ...event, text(words.perPersonWhoDid)];
  }
  const [opening = "", ending = ""] = words.counts[math as keyof typeof words.counts];
  const group = names.groupType(series.groupTypeIndex ?? 0);
  return [
    text(math === "unique_group" ? words.inGroups(group) : opening),
    ...event,
    ...optional(ending),
  ];
}

/** "`price` times `0.01`" */
function propertyParts({ math, mathProperty, isOfPerson, multiplier }: Series): Parts {
  return [
    code(mathProperty === undefined ? "…" : plainName(mathProperty)),
    ...optional(isOfPerson && !isSumPerPerson(math) ? words.ofThePerson : ""),
    ...(multiplier === undefined ? [] : [text(words.times), code(String(multiplier))]),
  ];
}

/** "where `plan` is `pro` and `seats` is at least `10`" */
export function whereParts(filters: Series["filters"], names: Names): Parts {
  const conditions = filters.map((filter) => filterParts(filter, names));
  return conditions.flatMap((parts, place) => [
    text(place === 0 ? words.where : words.and),
    ...parts,
  ]);
}

/** "a, b and c" */
export function listed(all: readonly Parts[]): Parts {
  return all.flatMap((parts, place) => {
    if (place === 0) return parts;
    return [text(place === all.length - 1 ? words.and : words.comma), ...parts];
  });
}

/** Join the non-empty clauses of a sentence with commas. */
export function clauses(all: readonly Parts[]): Parts {
  const given = all.filter((parts) => parts.length > 0);
  return given.flatMap((parts, place) => (place === 0 ? parts : [text(words.comma), ...parts]));
}

export const periodParts = ({ dates }: Question): Parts => [text(words.period(nameOfRange(dates)))];

export function breakdownParts(question: Question, names: Names): Parts {
  const { breakdowns, breakdownLimit = USUAL_LIMIT, hidesOther } = question;
  if (breakdowns.length === 0) return [];
  const isOfCohorts = breakdowns.every(({ type }) => type === "cohort");
  return [
    text(words.brokenDown),
    ...listed(breakdowns.map((one) => breakdownPart(one, names))),
    ...(isOfCohorts ? [] : [text(words.largest(breakdownLimit))]),
    ...(hidesOther ? [text(words.comma), text(words.withoutOther)] : []),
  ];
}

function breakdownPart(
  { type, property, groupTypeIndex = 0, bins }: Breakdown,
  names: Names,
): Parts {
  if (type === "cohort") {
    if (property === "all") return [text(words.everyone)];
    return [text(words.cohort), code(names.cohort?.(property) ?? property)];
  }
  const owner =
    type === "group" ? words.ofTypes.group(names.groupType(groupTypeIndex)) : words.ofTypes[type];
  const ranges = bins === undefined ? "" : words.inRanges(bins);
  const named = type === "hogql" ? property : plainName(property);
  return [code(named), ...optional(owner), ...optional(ranges)];
}

export function compareParts({ compare }: Question): Parts {
  if (compare === undefined) return [];
  return [text(compare === true ? words.compared : words.comparedTo(compare))];
}

export const testParts = ({ withoutTests }: Question): Parts => [
  text(withoutTests ? words.withoutTests : words.noTests),
];

/** Capitalize the first letter and add a full stop. */
export function asSentence(parts: Parts): Parts {
  const [first, ...rest] = parts;
  if (first === undefined) return [];
  const opening = first.text.charAt(0).toUpperCase() + first.text.slice(1);
  return [first.kind === "text" ? text(opening) : first, ...rest, text(words.stop)];
}
