import { words } from "@/words/sql";
import type { Kind } from "../kind";
import { numberOf } from "./drawn";
import { optionsOf, readSqlQuery, sqlQuery } from "./query";
import { plainOf, rowsOfAnswer } from "./rows";
import { SqlResult } from "./SqlResult";

/** A query in SQL. It is edited on its own screen, not in the builder. */
export const kind: Kind = {
  name: "sql",
  uses: () => ({
    series: { least: 0, most: 0, hasMath: false, title: "", one: "", mark: String },
    breakdowns: 0,
    intervals: [],
    compares: false,
  }),
  check: () => undefined,
  query: sqlQuery,
  read: readSqlQuery,
  sentence: (question) => [{ kind: "text", text: optionsOf(question).text }],
  missing: () => null,
  Result: SqlResult,
  table: ({ answer }) => {
    const { columns, results } = rowsOfAnswer(answer);
    const cellOf = (value: unknown) => numberOf(value) ?? String(plainOf(value) ?? "");
    return { columns, rows: results.map((row) => row.map(cellOf)) };
  },
  note: ({ answer }) => {
    const { hasMore, results } = rowsOfAnswer(answer);
    return hasMore ? words.firstRowsShort(results.length) : null;
  },
  behind: () => null,
};
