import type { SeriesColor } from "./series";

const COLORS = 10;
// Values that nearly every project has look alike in all of them.
const FIXED: Record<string, SeriesColor> = { true: 3, false: 8 };

/** Return a colour for each value, whatever the order of the values: the value has the same colour in
 * every chart. Only of values that would share a colour the later one, by its hash, takes the next.
 *
 * known: the values that a chart of this kind may have, such as all variants of a flag: they get the
 * same colours where only some of them are shown, and none of them gives way to another value
 */
export function colorsByValue(
  values: readonly string[],
  known: readonly string[] = [],
): ReadonlyMap<string, SeriesColor> {
  const colors = new Map<string, SeriesColor>();
  for (const value of [...byHash(known), ...byHash(values)]) {
    if (!colors.has(value)) colors.set(value, freeColor(value, new Set(colors.values())));
  }
  return colors;
}

function byHash(values: readonly string[]): string[] {
  const isFixed = (value: string) => Number(FIXED[value] !== undefined);
  return values.toSorted((a, b) => isFixed(b) - isFixed(a) || hashOf(a) - hashOf(b));
}

/** Return the value's own colour, or the next that is free. More values than colours share them. */
function freeColor(value: string, taken: ReadonlySet<SeriesColor>): SeriesColor {
  const own = FIXED[value] ?? colorAt(hashOf(value));
  for (let step = 0; step < COLORS; step += 1) {
    const color = colorAt(own - 1 + step);
    if (!taken.has(color)) return color;
  }
  return own;
}

const colorAt = (place: number): SeriesColor => ((place % COLORS) + 1) as SeriesColor;

/** FNV-1a with 32 bits, mixed once more: the last digits of values such as v1 and v2 matter. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) {
    hash = Math.imul(hash ^ byte, 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
