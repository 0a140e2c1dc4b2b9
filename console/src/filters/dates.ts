/** Dates as conditions have them: `2030-01-15`, `2030-01-15T09:00:00Z`, or so long ago: `-7d`. */

export const UNITS = ["h", "d", "w", "m", "y"] as const;
export type Unit = (typeof UNITS)[number];

export interface Relative {
  count: number;
  unit: Unit;
}

const RELATIVE = /^-?(\d{1,5})([hdwmy])$/;
const DATE = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$/;

export function readRelative(text: string): Relative | null {
  const found = RELATIVE.exec(text);
  const unit = UNITS.find((one) => one === found?.[2]);
  return found === null || unit === undefined ? null : { count: Number(found[1]), unit };
}

export function writeRelative({ count, unit }: Relative): string {
  return `-${count}${unit}`;
}

export function isDate(text: string): boolean {
  return DATE.test(text) && !Number.isNaN(Date.parse(text.replace(" ", "T")));
}
