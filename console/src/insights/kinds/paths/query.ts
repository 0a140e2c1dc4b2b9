import { QUERY_KINDS, type Question } from "@/insights/question/model";
import type { Reading } from "@/insights/question/reading";
import { type Query, readShared, SHARED, scopeParts } from "@/insights/question/wire";
import { optionsOf, PLACE, readOptions, writeOptions } from "./options";
import { checkShared, PART, withinQuery } from "./within";

export function pathsQuery(question: Question): Query {
  const options = optionsOf(question);
  // Skip rules that the user is still typing.
  const cleaning = options.cleaning.filter(({ regex }) => regex !== "");
  const { within, ...others } = options;
  const scope = scopeParts(question);
  return {
    kind: QUERY_KINDS.paths,
    ...scope,
    [PLACE]: writeOptions({ ...others, cleaning }),
    ...(within && { [PART]: withinQuery(within, scope) }),
  };
}

const UNUSED = ["series", "interval", "breakdownFilter", "compareFilter"];

export function readPathsQuery(query: Query, reading: Reading): Question {
  reading.known("", query, [...SHARED.filter((name) => !UNUSED.includes(name)), PLACE, PART]);
  const own = reading.object(PLACE, query[PLACE]);
  const read = readOptions({ ...own, [PART]: query[PART] }, reading);
  if (read.within) checkShared(reading, query, read.within);
  const options = writeOptions(read);
  return {
    kind: "paths",
    ...readShared(reading, query),
    options: Object.keys(options).length === 0 ? {} : { paths: options },
  };
}
