/** Round numbers from 0 to at least the highest, some four of them. */
export function ticks(most: number): number[] {
  const raw = Math.max(most, 1) / 4;
  const power = 10 ** Math.floor(Math.log10(raw));
  const nice = [1, 2, 2.5, 5, 10].find((one) => one * power >= raw) ?? 10;
  const step = most <= 4 ? 1 : nice * power;
  const count = Math.max(1, Math.ceil(most / step));
  return Array.from({ length: count + 1 }, (_, place) => place * step);
}

/** Every how many labels have room. */
export function labelStep(count: number, width: number, labelWidth: number): number {
  return Math.max(1, Math.ceil((count * labelWidth) / Math.max(width, labelWidth)));
}
