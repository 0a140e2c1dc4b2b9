import type { Column, Plain } from "./columns";

const NEEDS_QUOTES = /[",\r\n]/;
// A spreadsheet would compute what begins with these.
const FORMULA = /^[=+\-@\t\r]/;

/** One line of CSV after RFC 4180, with its end. Texts that a spreadsheet would compute begin with a quote. */
export function csvLine(cells: readonly Plain[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

export function csvCell(value: Plain): string {
  if (value === null || value === undefined) return "";
  if (value instanceof Date) return value.toISOString();
  // A negative number is no formula.
  if (typeof value !== "string") return String(value);
  const safe = FORMULA.test(value) ? `'${value}` : value;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export type CsvRows<Row> = AsyncIterable<Row> | Iterable<Row> | Promise<Iterable<Row>>;

const ROWS_PER_PART = 500;

/** The file in parts, so that a long one is made without holding up the page. */
export async function* csvParts<Row>(
  columns: readonly Column<Row>[],
  rows: CsvRows<Row>,
): AsyncGenerator<{ text: string; rows: number }> {
  // The mark tells spreadsheets that the text is UTF-8.
  let text = `\uFEFF${csvLine(columns.map((column) => column.header))}`;
  let count = 0;
  for await (const row of await rows) {
    text += csvLine(columns.map((column) => column.text(row)));
    count += 1;
    if (count % ROWS_PER_PART === 0) {
      yield { text, rows: count };
      text = "";
    }
  }
  yield { text, rows: count };
}

/** Hands a file to the browser, which puts it with the downloads. */
export function download(name: string, parts: BlobPart[], type: string): void {
  const address = URL.createObjectURL(new Blob(parts, { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  URL.revokeObjectURL(address);
}

export const CSV_TYPE = "text/csv;charset=utf-8";
