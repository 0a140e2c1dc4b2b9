/** The content of a file of members, read as the server does, for a preview before the upload. */
export interface CsvFile {
  file: File;
  header: readonly string[];
  /** The column whose ids are read; null: none of several is known */
  column: { name: string; holds: IdColumn } | null;
  /** Whether the first row is a header. */
  hasHeader: boolean;
  first: readonly (readonly string[])[];
  rows: number;
  /** The file is longer than what was read of it here. */
  isCut: boolean;
}

export const ID_COLUMNS = ["person_id", "distinct_id", "email"] as const;
export type IdColumn = (typeof ID_COLUMNS)[number];

const READ_BYTES = 256 * 1024;
const ROWS_SHOWN = 5;

// source: the server's reading of files; the first found wins
const NAMES: readonly (readonly [IdColumn, RegExp])[] = [
  ["person_id", /^(person[_-]id|person \.id)$/i],
  ["distinct_id", /^distinct[_-]id$/i],
  ["email", /^e-?mail$/i],
];

export async function readCsvFile(file: File): Promise<CsvFile> {
  const text = (await file.slice(0, READ_BYTES).text()).replace(/^\uFEFF/, "");
  const isCut = file.size > READ_BYTES;
  const all = rowsOf(text).filter((row) => row.some((cell) => cell.trim() !== ""));
  const rows = isCut ? all.slice(0, -1) : all;
  const header = (rows[0] ?? []).map((cell) => cell.trim());
  const column = columnOf(header);
  const hasHeader = column !== null || header.length > 1;
  const body = hasHeader ? rows.slice(1) : rows;
  return {
    file,
    header,
    column: column ?? (header.length === 1 ? { name: "", holds: "distinct_id" } : null),
    hasHeader,
    first: body.slice(0, ROWS_SHOWN),
    rows: body.length,
    isCut,
  };
}

function columnOf(header: readonly string[]): CsvFile["column"] {
  for (const [holds, pattern] of NAMES) {
    const name = header.find((cell) => pattern.test(cell));
    if (name !== undefined) return { name, holds };
  }
  return null;
}

/** Rows of cells, quoted as RFC 4180 says. */
export function rowsOf(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  const CELL = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|\r|$)/gy;
  for (let at = 0; at < text.length; ) {
    CELL.lastIndex = at;
    const found = CELL.exec(text);
    if (found === null) return [...rows, [...row, text.slice(at)]];
    row.push(found[1]?.replaceAll('""', '"') ?? found[2] ?? "");
    at = CELL.lastIndex;
    if (found[3] !== ",") {
      rows.push(row);
      row = [];
    } else if (at === text.length) row.push("");
  }
  return row.length > 0 ? [...rows, row] : rows;
}
