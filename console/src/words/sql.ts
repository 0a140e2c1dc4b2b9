import { counted, formatNumber } from "@/words/format";

export const words = {
  title: "SQL",
  description: "Ask about the events, persons, groups, sessions and cohorts of this project.",
  editor: "SQL query",
  keys: "Ctrl+Enter or ⌘Enter runs the query, Ctrl+Space completes names. Tab leaves the editor; Ctrl+] and Ctrl+[ indent.",
  tables: "Tables",
  table: "table",
  columnsOf: (table: string) => `Columns of ${table}`,
  columnTypes: {
    string: "text",
    integer: "integer",
    float: "number",
    datetime: "time",
    boolean: "true or false",
    json: "JSON",
  },
  insert: "Insert into the query",
  run: "Run",
  runQuery: "Run the query",
  running: "Running the query…",
  cancel: "Cancel",
  cancelled: "Cancelled. No answer was read.",
  goToError: "Go to the error",
  result: "Result",
  notRun: "Run a query to see its result here.",
  limits:
    "An answer has 100 rows without a LIMIT, and at most 10,000. A query that takes too long, or too much memory, is ended.",
  changed: "The query was changed since this result.",
  read: (rows: number | null, seconds: string) =>
    rows === null ? `Took ${seconds} s.` : `${counted(rows, "row", "rows")} read in ${seconds} s.`,
  cached: "From a moment ago; run again for new numbers.",
  rows: (rows: number) => `${counted(rows, "row", "rows")}.`,
  firstRows: (rows: number, canHaveMore: boolean) =>
    `The first ${counted(rows, "row", "rows")} of more. ${
      canHaveMore
        ? "A LIMIT of up to 10,000 shows more."
        : "No answer has more; OFFSET shows the next ones."
    }`,
  firstRowsShort: (rows: number) => `The first ${counted(rows, "row", "rows")} of more`,
  none: "The query has no rows.",
  show: "Show as",
  displays: { table: "Table", line: "Lines", bar: "Bars", number: "Number" },
  x: "Axis",
  y: "Values",
  allNumbers: "All numbers",
  firstNumber: "First number",
  nothingToDraw: "The result has no column with numbers to draw.",
  noNumber: "The first row has no number.",
  caption: (values: string, axis: string) => `${values} by ${axis}`,
  notDrawn: (shown: number, left: number) =>
    `The first ${counted(shown, "row", "rows")} are drawn; ${formatNumber(left)} more are in the table.`,
  save: "Save",
  saveTitle: "Save the query as an insight",
  saved: "Query saved",
  stale:
    "Someone else has changed this query since you opened it. Saving overwrites their changes.",
  queryOf: (text: string) => `SQL: ${text}`,
  history: "History",
  historyEmpty: "Queries that you run are kept here, in this browser alone.",
  clearHistory: "Clear the history",
  openQuery: (text: string) => `Open the query ${text}`,
  null: "null",
  column: (place: number) => `Column ${formatNumber(place)}`,
  variables: "Values of the variables",
  typeOf: (name: string) => `Type of ${name}`,
  types: { text: "Text", number: "Number" },
  csvName: "sql.csv",
  example:
    "SELECT event, count() AS events\nFROM events\nWHERE timestamp > now() - INTERVAL 7 DAY\nGROUP BY event\nORDER BY events DESC",
} as const;
