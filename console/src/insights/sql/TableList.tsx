import { useState } from "react";
import { Disclosure } from "@/ui/Disclosure";
import { words } from "@/words/sql";
import type { ColumnOfSql, NamesOfSql } from "./completions";

// From this width on the list is beside the editor.
const WIDE = "(min-width: 64rem)";

interface Props {
  /** Null until it is loaded. */
  names: NamesOfSql | null;
  onInsert: (name: string) => void;
}

/** The tables with their columns, each of which a click writes into the query. */
export function TableList({ names, onInsert }: Props) {
  const [isOpen] = useState(() => matchMedia(WIDE).matches);
  return (
    <Disclosure summary={words.tables} isOpen={isOpen}>
      <div className="h-52 overflow-y-auto rounded-lg border border-line bg-panel p-2 lg:w-72">
        {names === null
          ? null
          : Object.entries(names.tables).map(([table, columns]) => (
              <Disclosure key={table} summary={table}>
                <Columns table={table} columns={columns} onInsert={onInsert} />
              </Disclosure>
            ))}
      </div>
    </Disclosure>
  );
}

interface ColumnsProps {
  table: string;
  columns: readonly ColumnOfSql[];
  onInsert: (name: string) => void;
}

function Columns({ table, columns, onInsert }: ColumnsProps) {
  return (
    <ul aria-label={words.columnsOf(table)} className="mb-2 ps-5">
      <Name name={table} type={words.table} onInsert={onInsert} />
      {columns.map(({ name, type }) => (
        <Name key={name} name={name} type={words.columnTypes[type]} onInsert={onInsert} />
      ))}
    </ul>
  );
}

interface NameProps {
  name: string;
  type: string;
  onInsert: (name: string) => void;
}

function Name({ name, type, onInsert }: NameProps) {
  return (
    <li>
      <button
        type="button"
        title={words.insert}
        className="flex w-full min-w-0 items-baseline gap-2 rounded px-1 py-0.5 text-start -outline-offset-2 hover:bg-sunken"
        onClick={() => onInsert(name)}
      >
        <span className="min-w-0 grow break-all font-mono text-[0.9em]">{name}</span>{" "}
        <span className="shrink-0 text-ink-3 text-sm">{type}</span>
      </button>
    </li>
  );
}
