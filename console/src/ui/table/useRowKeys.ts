import type { KeyboardEvent } from "react";

interface Options {
  count: number;
  active: number;
  pageRows: number;
  move: (index: number) => void;
  select: ((index: number) => void) | undefined;
}

/** The keys of a table: j, k and arrows walk, home and end jump, enter opens, x selects. */
export function useRowKeys({ count, active, pageRows, move, select }: Options) {
  const steps: Record<string, number> = {
    j: active + 1,
    ArrowDown: active + 1,
    k: active - 1,
    ArrowUp: active - 1,
    Home: 0,
    End: count - 1,
    PageDown: active + pageRows,
    PageUp: active - pageRows,
  };

  return (event: KeyboardEvent<HTMLElement>) => {
    const { target, key } = event;
    if (!(target instanceof HTMLElement) || event.metaKey || event.ctrlKey || event.altKey) return;
    if (!event.currentTarget.contains(target)) return;
    if (
      target.closest(
        "input:not([type=checkbox]), select, textarea, [contenteditable], [role=combobox]",
      )
    )
      return;
    const step = steps[key];
    if (step !== undefined && count > 0) {
      event.preventDefault();
      move(Math.min(count - 1, Math.max(0, step)));
      return;
    }
    const row = target.closest<HTMLElement>("tr[data-index]");
    if (row === null || target !== row) return;
    if (key === "Enter") {
      event.preventDefault();
      openRow(row);
    } else if (key === "x" && select) {
      event.preventDefault();
      select(active);
    }
  };
}

function openRow(row: HTMLElement): void {
  const link = row.querySelector<HTMLElement>("a[data-row-link]");
  (link ?? row).click();
}
