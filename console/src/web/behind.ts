import { type Given, present } from "@/lib/searchParams";

/** Identifies a number in the chart. */
export interface WebBehind {
  /** The start of the interval, as the API writes it. */
  at: string;
  /** The event that is counted. */
  event: string;
  isPrevious?: true;
}

const AT = /^\d{4}-\d{2}-\d{2}( \d{2}:\d{2}:\d{2})?$/;

export function readWebBehind(given: unknown): WebBehind | undefined {
  if (typeof given !== "object" || given === null) return undefined;
  const { at, event, isPrevious }: Given = { ...given };
  if (typeof at !== "string" || !AT.test(at) || typeof event !== "string") return undefined;
  return present<WebBehind>({ at, event, isPrevious: isPrevious === true ? true : undefined });
}
