import { words } from "@/words/insightsPaths";
import type { Asked, Kind } from "../kind";
import { behindPaths } from "./behind";
import { readGraph } from "./graph";
import { optionsOf, readOptions } from "./options";
import { PathsFields } from "./PathsFields";
import { PathsResult } from "./PathsResult";
import { pathsQuery, readPathsQuery } from "./query";
import { pathsSentence } from "./sentence";
import { pathsTable } from "./table";

export const kind: Kind = {
  name: "paths",
  uses: () => ({
    series: { least: 0, most: 0, hasMath: false, title: "", one: "", mark: () => "" },
    breakdowns: 0,
    intervals: [],
    compares: false,
  }),
  check: ({ options }, reading) => void readOptions(options.paths ?? {}, reading),
  query: pathsQuery,
  read: readPathsQuery,
  sentence: pathsSentence,
  missing: () => null,
  Fields: PathsFields,
  Result: PathsResult,
  table: pathsTable,
  note,
  behind: behindPaths,
};

function note({ question, answer }: Asked): string | null {
  const { edges } = optionsOf(question);
  const shown = readGraph(answer).links.filter(({ seconds }) => seconds !== null).length;
  return shown < edges ? null : words.shownEdges(shown);
}
