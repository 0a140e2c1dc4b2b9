import type { KeyboardEvent } from "react";

// Text stays readable on the darkest shade.
const LIGHTEST = 4;
const DARKEST = 50;

/** The shade of a number, by its part of the largest one. */
export const shadeOf = (share: number, most: number): string =>
  `color-mix(in srgb, var(--series-2) ${Math.round(LIGHTEST + (share / most) * (DARKEST - LIGHTEST))}%, transparent)`;

const valuesOf = (row: Element | null | undefined): HTMLElement[] => [
  ...(row?.querySelectorAll<HTMLElement>("[data-value]") ?? []),
];

/** Tab reaches one number of the table; arrow keys move to the others. */
export function moveFocus(event: KeyboardEvent, table: HTMLTableElement | null): void {
  const at = event.target as HTMLElement;
  if (table === null || !at.matches("[data-value]")) return;
  const rows = [...table.querySelectorAll("tbody tr")].filter((row) => valuesOf(row).length > 0);
  const row = rows.findIndex((one) => one.contains(at));
  const place = valuesOf(rows[row]).indexOf(at);
  const moves: Record<string, [row: number, place: number]> = {
    ArrowLeft: [row, place - 1],
    ArrowRight: [row, place + 1],
    ArrowUp: [row - 1, place],
    ArrowDown: [row + 1, place],
    Home: [row, 0],
    End: [row, Number.POSITIVE_INFINITY],
  };
  const move = moves[event.key];
  if (move === undefined) return;
  event.preventDefault();
  const values = valuesOf(rows[Math.min(rows.length - 1, Math.max(0, move[0]))]);
  values[Math.min(values.length - 1, Math.max(0, move[1]))]?.focus();
}

export function keepInTabs(table: HTMLTableElement | null, target: EventTarget & Element): void {
  if (table === null || !target.matches("[data-value]")) return;
  for (const one of table.querySelectorAll<HTMLElement>('[data-value][tabindex="0"]'))
    one.tabIndex = -1;
  (target as HTMLElement).tabIndex = 0;
}
