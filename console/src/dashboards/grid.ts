// The grid of a dashboard: 12 columns, and each tile moves up as far as it can.

export interface Box {
  id: number;
  /** The column of its left edge, from 0. */
  x: number;
  /** The row of its upper edge, from 0. */
  y: number;
  /** Columns. */
  w: number;
  /** Rows. */
  h: number;
  /** The fewest rows that it may have. */
  least: number;
}

export const COLUMNS = 12;
const LEAST_COLUMNS = 2;
const LEAST_ROWS = 2;
const ROWS_MAX = 12;
const USUAL = { w: 6, h: 4 };

const clamp = (value: number, least: number, most: number): number =>
  Math.min(most, Math.max(least, value));

const isWhole = (value: unknown): value is number => Number.isInteger(value);

/** Return the stored position of a tile, clamped to the grid, or null if it has none.
 *
 * least: the fewest rows that the tile may have
 */
export function readBox(id: number, given: unknown, least = LEAST_ROWS): Box | null {
  if (typeof given !== "object" || given === null) return null;
  const { x, y, w, h } = given as Record<string, unknown>;
  if (!isWhole(x) || !isWhole(y) || !isWhole(w) || !isWhole(h)) return null;
  const width = clamp(w, LEAST_COLUMNS, COLUMNS);
  return {
    id,
    x: clamp(x, 0, COLUMNS - width),
    y: Math.max(0, y),
    w: width,
    h: clamp(h, least, ROWS_MAX),
    least,
  };
}

const overlap = (a: Box, b: Box): boolean =>
  a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

/** Return the boxes in reading order, without gaps above them.
 *
 * first: the box that keeps its position when others compete for it
 */
export function arranged(boxes: readonly Box[], first?: number): Box[] {
  const rank = (box: Box) => (box.id === first ? 0 : 1);
  const sorted = boxes.toSorted((a, b) => a.y - b.y || rank(a) - rank(b) || a.x - b.x);
  const placed: Box[] = [];
  for (const box of sorted) {
    const lies = (at: number) => placed.some((other) => overlap({ ...box, y: at }, other));
    const lowest = Math.max(0, ...placed.map((other) => other.y + other.h));
    // Start from the bottom, so that no box jumps over one above it.
    let y = lowest;
    while (y > 0 && !lies(y - 1)) y -= 1;
    placed.push({ ...box, y });
  }
  return placed.toSorted((a, b) => a.y - b.y || a.x - b.x);
}

/** Return the positions of all tiles. Tiles without one go below the rest, two per row. */
export function boxesOf(
  tiles: readonly { id: number; layout: unknown; least?: number | undefined }[],
): Box[] {
  const read = tiles.map(({ id, layout, least = LEAST_ROWS }) => ({
    id,
    least,
    box: readBox(id, layout, least),
  }));
  const stored = read.flatMap(({ box }) => (box === null ? [] : [box]));
  const below = Math.max(0, ...stored.map(({ y, h }) => y + h));
  const missing = read.filter(({ box }) => box === null);
  const added = missing.map(({ id, least }, place) => ({
    id,
    least,
    x: (place % 2) * USUAL.w,
    y: below + Math.floor(place / 2) * USUAL.h,
    ...USUAL,
  }));
  return arranged([...stored, ...added]);
}

/** Return the boxes after moving and resizing one by the given columns and rows. */
export function changed(
  boxes: readonly Box[],
  id: number,
  by: { x?: number; y?: number; w?: number; h?: number },
): Box[] {
  const box = boxes.find((one) => one.id === id);
  if (box === undefined) return [...boxes];
  const w = clamp(box.w + (by.w ?? 0), LEAST_COLUMNS, COLUMNS - box.x);
  const next = {
    ...box,
    w,
    h: clamp(box.h + (by.h ?? 0), box.least, ROWS_MAX),
    x: clamp(box.x + (by.x ?? 0), 0, COLUMNS - w),
    y: Math.max(0, box.y + (by.y ?? 0)),
  };
  return arranged(
    boxes.map((one) => (one.id === id ? next : one)),
    id,
  );
}

/** Return the boxes after one key press. Up and down move past the nearest neighbour. */
export function stepped(boxes: readonly Box[], id: number, key: string, resizes: boolean): Box[] {
  const by = resizes ? SIZES[key] : MOVES[key];
  const box = boxes.find((one) => one.id === id);
  if (by === undefined || box === undefined) return [...boxes];
  if (resizes || by.y === undefined) return changed(boxes, id, by);
  const isBeside = (one: Box) => one.id !== id && one.x < box.x + box.w && box.x < one.x + one.w;
  const rows = boxes.filter(isBeside).map((one) => one.y);
  const passed = rows.filter((y) => (by.y === 1 ? y > box.y : y < box.y));
  if (passed.length === 0) return [...boxes];
  const next = by.y === 1 ? Math.min(...passed) + 1 : Math.max(...passed);
  return changed(boxes, id, { y: next - box.y });
}

interface Step {
  x?: number;
  y?: 1 | -1;
  w?: number;
  h?: number;
}

const MOVES: Readonly<Record<string, Step>> = {
  ArrowLeft: { x: -1 },
  ArrowRight: { x: 1 },
  ArrowUp: { y: -1 },
  ArrowDown: { y: 1 },
};

const SIZES: Readonly<Record<string, Step>> = {
  ArrowLeft: { w: -1 },
  ArrowRight: { w: 1 },
  ArrowUp: { h: -1 },
  ArrowDown: { h: 1 },
};
