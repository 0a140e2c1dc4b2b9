import { type Given, present, textOf } from "@/lib/searchParams";
import { isDay } from "@/ui/ranges";

/** The number of a chart by day whose persons are shown, in the address. */
export interface Behind {
  day: string;
  /** The value of the breakdown. */
  value?: string;
  /** Whether it is of the period before. */
  isPrevious?: true;
}

export function readBehind(given: unknown): Behind | undefined {
  if (typeof given !== "object" || given === null) return undefined;
  const { day, value, isPrevious }: Given = { ...given };
  if (typeof day !== "string" || !isDay(day)) return undefined;
  return present<Behind>({
    day,
    value: textOf(value),
    isPrevious: isPrevious === true ? true : undefined,
  });
}
