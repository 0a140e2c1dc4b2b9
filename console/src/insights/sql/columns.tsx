import { plainValue, Visible } from "@/ui/properties";
import type { Column, Plain } from "@/ui/table";
import { words } from "@/words/sql";
import type { SqlAnswer } from "./answer";

/** A row of an answer. */
export interface ResultRow {
  place: number;
  values: readonly unknown[];
}

export const rowsOf = ({ results }: Pick<SqlAnswer, "results">): readonly ResultRow[] =>
  results.map((values, place) => ({ place, values }));

const NUMBER = /^(?:Nullable\()?(?:U?Int\d+|Float\d+|Decimal)/;
const WIDTHS = { number: 140, other: 180 } as const;

export const isNumeric = (type: string | undefined): boolean => NUMBER.test(type ?? "");

/** The value of a cell as text, number or boolean; lists and objects as JSON. */
export function plainOf(value: unknown): Plain {
  if (value === null || value === undefined) return null;
  if (typeof value === "number" || typeof value === "boolean") return value;
  return plainValue(value);
}

/** The columns of an answer, which may have the same name several times. */
export function columnsOf({ columns, types }: Pick<SqlAnswer, "columns" | "types">) {
  return columns.map((name, place): Column<ResultRow> => {
    const isNumber = isNumeric(types[place]?.[1]);
    return {
      id: `${place} ${name}`,
      header: name === "" ? words.column(place + 1) : name,
      width: isNumber ? WIDTHS.number : WIDTHS.other,
      grow: true,
      sortable: true,
      ...(isNumber && { align: "end" as const }),
      cell: ({ values }) => <Cell value={values[place]} />,
      text: ({ values }) => plainOf(values[place]),
    };
  });
}

// Longer texts are cut by the cell; its title has more of them.
const SHOWN_MAX = 500;

function Cell({ value }: { value: unknown }) {
  const plain = plainOf(value);
  if (plain === null) return <span className="text-ink-3 italic">{words.null}</span>;
  return <Visible text={String(plain).slice(0, SHOWN_MAX)} />;
}
