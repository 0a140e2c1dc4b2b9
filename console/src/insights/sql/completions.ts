import type { components } from "@/lib/schema";

/** A column of a table; some names have a dot: `person.created_at`. */
export interface ColumnOfSql {
  name: string;
  type: components["schemas"]["SqlFieldBody"]["type"];
}

/** The names that can be completed. */
export interface NamesOfSql {
  tables: Readonly<Record<string, readonly ColumnOfSql[]>>;
  functions: readonly string[];
  /** The properties of events and of persons. */
  events: readonly string[];
  persons: readonly string[];
}

export interface Completion {
  label: string;
  /** What is inserted, if it is not the label. */
  apply?: string;
  type: "keyword" | "table" | "column" | "property" | "function";
}

/** What can stand at the cursor. from: where the word begins that it replaces */
export interface Completions {
  from: number;
  options: readonly Completion[];
}

const PROPERTY = /(?:\b(person|group_\d)\s*\.\s*)?\bproperties\s*\.\s*([\p{L}\p{N}_$]*)$/u;
const COLUMN = /([\p{L}_$][\p{L}\p{N}_$]*)\.([\p{L}\p{N}_$]*)$/u;
const WORD = /[\p{L}\p{N}_$]+$/u;
// Other names stand in brackets: properties['a name'].
const PLAIN = /^[\p{L}_$][\p{L}\p{N}_$]*$/u;

/** Return what can stand at the end of a text.
 *
 * isAsked: whether to list everything where no word has begun
 */
export function completionsAt(
  before: string,
  names: NamesOfSql,
  keywords: readonly string[],
  isAsked: boolean,
): Completions | null {
  const property = PROPERTY.exec(before);
  if (property !== null) return propertiesAt(before, property, names);
  const column = COLUMN.exec(before);
  if (column !== null) return columnsAt(before, column, names);
  const word = WORD.exec(before)?.[0] ?? "";
  if ((word === "" && !isAsked) || /^\d/.test(word)) return null;
  return { from: before.length - word.length, options: wordsOf(names, keywords) };
}

function propertiesAt(before: string, found: RegExpExecArray, names: NamesOfSql): Completions {
  const [, owner, typed = ""] = found;
  const listed = owner === undefined ? names.events : owner === "person" ? names.persons : [];
  // The dot is replaced by brackets.
  const from = before.length - typed.length - 1;
  return {
    from,
    options: listed.map((name) => ({
      label: `.${name}`,
      apply: PLAIN.test(name) ? `.${name}` : `['${name.replace(/[\\']/g, "\\$&")}']`,
      type: "property",
    })),
  };
}

function columnsAt(before: string, found: RegExpExecArray, names: NamesOfSql): Completions | null {
  const [, owner = "", typed = ""] = found;
  const events = columnNames(names, "events");
  const within = events.flatMap((name) =>
    name.startsWith(`${owner}.`) ? [name.slice(owner.length + 1)] : [],
  );
  const listed = within.length > 0 ? within : columnNames(names, owner);
  if (listed.length === 0) return null;
  return {
    from: before.length - typed.length,
    options: listed.map((label) => ({ label, type: "column" })),
  };
}

const columnNames = ({ tables }: NamesOfSql, table: string): string[] =>
  (tables[table] ?? []).map(({ name }) => name);

function wordsOf(names: NamesOfSql, keywords: readonly string[]): Completion[] {
  const tables = Object.keys(names.tables);
  const columns = new Set(tables.flatMap((table) => columnNames(names, table)));
  return [
    ...[...columns].map((label): Completion => ({ label, type: "column" })),
    ...tables.map((label): Completion => ({ label, type: "table" })),
    ...keywords.map((label): Completion => ({ label, type: "keyword" })),
    ...names.functions.map(
      (label): Completion => ({ label, apply: `${label}(`, type: "function" }),
    ),
  ];
}
