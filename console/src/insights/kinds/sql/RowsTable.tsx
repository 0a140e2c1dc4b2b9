import { useMemo } from "react";
import { Visible } from "@/ui/properties";
import { type Column, DataTable } from "@/ui/table";
import { words } from "@/words/sql";
import { isNumeric, plainOf, type SqlRows } from "./rows";

interface Row {
  place: number;
  values: readonly unknown[];
}

interface Props {
  rows: SqlRows;
  /** CSS length; by default what the window leaves. */
  maxHeight?: string;
}

/** The rows of a query. Their CSV has the same values. */
export function RowsTable({ rows, maxHeight }: Props) {
  const columns = useMemo(() => columnsOf(rows), [rows]);
  const listed = useMemo(
    () => rows.results.map((values, place): Row => ({ place, values })),
    [rows.results],
  );
  return (
    <DataTable
      name="sql"
      label={words.result}
      columns={columns}
      rows={listed}
      rowId={({ place }) => String(place)}
      csv={{ fileName: words.csvName, all: () => listed }}
      empty={words.none}
      {...(maxHeight !== undefined && { maxHeight })}
    />
  );
}

const WIDTHS = { number: 140, other: 180 } as const;

/** Columns may have the same name several times. */
function columnsOf({ columns, types }: SqlRows) {
  return columns.map((name, place): Column<Row> => {
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
