import { numbersIn } from "@/insights/kinds/sql/drawn";
import type { SqlRows } from "@/insights/kinds/sql/rows";
import { DISPLAYS, type Shown } from "@/insights/kinds/sql/shown";
import { present } from "@/lib/searchParams";
import { SelectField } from "@/ui/Select";
import { words } from "@/words/sql";

interface Props {
  rows: SqlRows;
  shown: Shown;
  onChange: (shown: Shown) => void;
}

const ALL = "";
const OPTIONS = DISPLAYS.map((one) => ({ value: one, label: words.displays[one] }));
const optionsOf = (names: readonly string[]) =>
  [...new Set(names)].map((name) => ({ value: name, label: name }));

/** How the result is shown: the display, and the columns of a chart. */
export function ShownFields({ rows, shown, onChange }: Props) {
  const { columns } = rows;
  const numbers = numbersIn(rows).map((place) => columns[place] ?? "");
  const isChart = shown.display === "line" || shown.display === "bar";
  const usual = shown.display === "number" ? words.firstNumber : words.allNumbers;
  const change = (changes: { [Name in keyof Shown]?: Shown[Name] | undefined }) =>
    onChange(present<Shown>({ ...shown, ...changes, display: changes.display ?? shown.display }));
  return (
    <div className="flex min-w-0 flex-wrap items-end gap-x-4 gap-y-2">
      <SelectField
        label={words.show}
        value={shown.display}
        options={OPTIONS}
        onChange={(display) => change({ display })}
      />
      {isChart && (
        <SelectField
          label={words.x}
          value={shown.x ?? columns[0] ?? ""}
          options={optionsOf(columns)}
          onChange={(x) => change({ x })}
          className="max-w-60"
        />
      )}
      {shown.display !== "table" && (
        <SelectField
          label={words.y}
          value={shown.y?.length === 1 ? (shown.y[0] ?? ALL) : ALL}
          options={[{ value: ALL, label: usual }, ...optionsOf(numbers)]}
          onChange={(y) => change({ y: y === ALL ? undefined : [y] })}
          className="max-w-60"
        />
      )}
    </div>
  );
}
