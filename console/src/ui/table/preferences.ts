import { useCallback, useEffect, useState } from "react";
import type { Column } from "./columns";

/** Which columns a person sees, and in which order. Columns added later stand at the end. */
export interface ColumnPreferences {
  order: readonly string[];
  hidden: readonly string[];
}

const PREFIX = "fanion.table.";

function read(key: string): ColumnPreferences | null {
  try {
    const parsed: unknown = JSON.parse(localStorage.getItem(key) ?? "null");
    if (typeof parsed !== "object" || parsed === null) return null;
    const { order, hidden } = parsed as { order?: unknown; hidden?: unknown };
    return { order: texts(order), hidden: texts(hidden) };
  } catch {
    // Storage may be switched off, or hold what another version wrote.
    return null;
  }
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

export function useColumnPreferences<Row>(
  name: string,
  columns: readonly Column<Row>[],
  initiallyHidden: readonly string[],
) {
  const key = PREFIX + name;
  const [chosen, setChosen] = useState(() => read(key));

  useEffect(() => {
    try {
      if (chosen === null) localStorage.removeItem(key);
      else localStorage.setItem(key, JSON.stringify(chosen));
    } catch {
      // Kept for this page only.
    }
  }, [key, chosen]);

  const reset = useCallback(() => setChosen(null), []);
  const preferences = {
    order: inOrder(columns, chosen?.order ?? []),
    hidden: chosen?.hidden ?? initiallyHidden,
  };
  return { preferences, setPreferences: setChosen, reset, isChanged: chosen !== null };
}

/** All columns: first those with a place, then the others. */
export function inOrder<Row>(columns: readonly Column<Row>[], order: readonly string[]): string[] {
  const ids = columns.map((column) => column.id);
  const placed = order.filter((id) => ids.includes(id));
  return [...placed, ...ids.filter((id) => !placed.includes(id))];
}
