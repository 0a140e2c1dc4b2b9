import { ArrowDown, ArrowUp, Columns3 } from "lucide-react";
import { Popover } from "radix-ui";
import { words } from "@/words/table";
import type { Column } from "./columns";
import type { ColumnPreferences } from "./preferences";
import { ICON_BUTTON, TOOL_BUTTON } from "./styles";

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
    <Popover.Root>
      <Popover.Trigger className={TOOL_BUTTON}>
        <Columns3 size={14} aria-hidden />
        {words.columns}
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          align="end"
          sideOffset={4}
          aria-label={words.columnsOf(label)}
          className="z-40 max-h-[70dvh] w-64 overflow-y-auto rounded-lg border border-line bg-panel p-1.5 shadow-float"
        >
          <ul>
            {order.map((id, place) => {
              const column = byId.get(id);
              if (column === undefined) return null;
              return (
                <li key={id} className="flex items-center gap-1 rounded px-1.5 hover:bg-sunken">
                  <label className="flex min-w-0 flex-1 items-center gap-2 py-1">
                    <input
                      type="checkbox"
                      className="accent-accent"
                      checked={!hidden.includes(id)}
                      disabled={column.fixed === true}
                      onChange={(event) => show(id, event.target.checked)}
                    />
                    <span className="truncate">{column.header}</span>
                  </label>
                  <button
                    type="button"
                    className={ICON_BUTTON}
                    aria-label={words.moveUp(column.header)}
                    disabled={place === 0}
                    onClick={() => move(id, -1)}
                  >
                    <ArrowUp size={14} aria-hidden />
                  </button>
                  <button
                    type="button"
                    className={ICON_BUTTON}
                    aria-label={words.moveDown(column.header)}
                    disabled={place === order.length - 1}
                    onClick={() => move(id, 1)}
                  >
                    <ArrowDown size={14} aria-hidden />
                  </button>
                </li>
              );
            })}
          </ul>
          {onReset && (
            <div className="mt-1 border-t border-line pt-1">
              <button type="button" className={TOOL_BUTTON} onClick={onReset}>
                {words.reset}
              </button>
            </div>
          )}
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}
