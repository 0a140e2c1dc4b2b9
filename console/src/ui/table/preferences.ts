import { useCallback, useMemo, useState } from "react";
import { isTexts, readStored, removeStored, writeStored } from "@/lib/storage";
import type { Column } from "./columns";

/** Which columns a person sees, and in which order. Columns added later stand at the end. */
export interface ColumnPreferences {
  order: readonly string[];
  hidden: readonly string[];
}

function isPreferences(found: unknown): found is ColumnPreferences | null {
  if (typeof found !== "object" || found === null) return found === null;
  return "order" in found && isTexts(found.order) && "hidden" in found && isTexts(found.hidden);
}

export function useColumnPreferences<Row>(
  name: string,
  columns: readonly Column<Row>[],
  initiallyHidden: readonly string[],
) {
  const key = `table.${name}`;
  const otherwise = initiallyHidden.join("\n");
  const [chosen, setChosen] = useState(() => readStored(key, null, isPreferences));

  const setPreferences = useCallback(
    (next: ColumnPreferences) => {
      setChosen(next);
      writeStored(key, next);
    },
    [key],
  );
  const reset = useCallback(() => {
    setChosen(null);
    removeStored(key);
  }, [key]);

  const preferences = useMemo(
    () => ({
      order: inOrder(columns, chosen?.order ?? []),
      hidden: chosen?.hidden ?? otherwise.split("\n"),
    }),
    [columns, chosen, otherwise],
  );
  return { preferences, setPreferences, reset, isChanged: chosen !== null };
}

/** All columns: first those with a place, then the others. */
export function inOrder<Row>(columns: readonly Column<Row>[], order: readonly string[]): string[] {
  const ids = columns.map((column) => column.id);
  const placed = order.filter((id) => ids.includes(id));
  return [...placed, ...ids.filter((id) => !placed.includes(id))];
}
