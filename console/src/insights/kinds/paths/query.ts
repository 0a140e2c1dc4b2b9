import { QUERY_KINDS, type Question } from "@/insights/question/model";
import type { Reading } from "@/insights/question/reading";
import { type Query, readShared, SHARED, scopeParts } from "@/insights/question/wire";
import { optionsOf, PLACE, readOptions, writeOptions } from "./options";

export function pathsQuery(question: Question): Query {
  const options = optionsOf(question);
  // Skip rules that the user is still typing.
  const cleaning = options.cleaning.filter(({ regex }) => regex !== "");
  return {
    kind: QUERY_KINDS.paths,
    ...scopeParts(question),
    [PLACE]: writeOptions({ ...options, cleaning }),
  };
}

const UNUSED = ["series", "interval", "breakdownFilter", "compareFilter"];

export function readPathsQuery(query: Query, reading: Reading): Question {
  reading.known("", query, [...SHARED.filter((name) => !UNUSED.includes(name)), PLACE]);
  const options = writeOptions(readOptions(reading.object(PLACE, query[PLACE]), reading));
  return {
    kind: "paths",
    ...readShared(reading, query),
    options: Object.keys(options).length === 0 ? {} : { paths: options },
  };
}
