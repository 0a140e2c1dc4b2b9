import { ArrowDown, ArrowUp, Columns3, type LucideIcon } from "lucide-react";
import { Button } from "@/ui/Button";
import { Checkbox } from "@/ui/Field";
import { Popover } from "@/ui/Popover";
import { words } from "@/words/table";
import type { Column } from "./columns";
import type { ColumnPreferences } from "./preferences";

interface Props<Row> {
  label: string;
  columns: readonly Column<Row>[];
  preferences: ColumnPreferences;
  onChange: (preferences: ColumnPreferences) => void;
  onReset?: (() => void) | undefined;
}

/** Chooses and orders columns, by pointer or keys. */
export function ColumnsMenu<Row>({ label, columns, preferences, onChange, onReset }: Props<Row>) {
  const { order, hidden } = preferences;
  const byId = new Map(columns.map((column) => [column.id, column]));

  const move = (id: string, by: number) => {
    const next = order.filter((other) => other !== id);
    next.splice(order.indexOf(id) + by, 0, id);
    onChange({ order: next, hidden });
  };
  const show = (id: string, isShown: boolean) =>
    onChange({ order, hidden: isShown ? hidden.filter((one) => one !== id) : [...hidden, id] });

  return (
    <Popover
      trigger={
        <Button look="quiet" small icon={Columns3}>
          {words.columns}
        </Button>
      }
      label={words.columnsOf(label)}
      align="end"
      className="w-72 p-1.5"
    >
      <ul>
        {order.map((id, place) => {
          const column = byId.get(id);
          if (column === undefined) return null;
          return (
            <li key={id} className="flex items-center gap-0.5 rounded px-1.5 hover:bg-sunken">
              <Checkbox
                className="min-w-0 flex-1 py-1"
                label={column.header}
                checked={column.fixed === true || !hidden.includes(id)}
                disabled={column.fixed === true}
                onChange={(isShown) => show(id, isShown)}
              />
              <MoveButton
                icon={ArrowUp}
                label={words.moveUp(column.header)}
                disabled={place === 0}
                onClick={() => move(id, -1)}
              />
              <MoveButton
                icon={ArrowDown}
                label={words.moveDown(column.header)}
                disabled={place === order.length - 1}
                onClick={() => move(id, 1)}
              />
            </li>
          );
        })}
      </ul>
      {onReset && (
        <div className="mt-1 border-line border-t pt-1.5">
          <Button look="quiet" small onClick={onReset}>
            {words.reset}
          </Button>
        </div>
      )}
    </Popover>
  );
}

interface MoveButtonProps {
  icon: LucideIcon;
  label: string;
  disabled: boolean;
  onClick: () => void;
}

/** Keeps the focus where it can move no further. */
function MoveButton({ icon: Icon, label, disabled, onClick }: MoveButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      aria-disabled={disabled}
      onClick={disabled ? undefined : onClick}
      className="rounded p-1 text-ink-2 hover:bg-line hover:text-ink aria-disabled:opacity-30"
    >
      <Icon aria-hidden className="size-3.5" />
    </button>
  );
}
