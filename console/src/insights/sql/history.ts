import { readStored, writeStored } from "@/lib/storage";

/** A query that was run. at: in milliseconds */
export interface Ran {
  text: string;
  at: number;
}

const RAN_MAX = 30;
const TEXT_MAX = 8_000;

const nameOf = (projectId: string): string => `sql.history.${projectId}`;

const isRan = (found: unknown): found is Ran =>
  typeof found === "object" &&
  found !== null &&
  "text" in found &&
  typeof found.text === "string" &&
  "at" in found &&
  typeof found.at === "number";

const areRan = (found: unknown): found is Ran[] => Array.isArray(found) && found.every(isRan);

/** Return the queries that this browser has run, the last first. */
export const readHistory = (projectId: string): readonly Ran[] =>
  readStored(nameOf(projectId), [], areRan);

/** Put a query before the others, of which the oldest are forgotten. */
export function withRan(history: readonly Ran[], ran: Ran): readonly Ran[] {
  if (ran.text.trim() === "" || ran.text.length > TEXT_MAX) return history;
  return [ran, ...history.filter(({ text }) => text !== ran.text)].slice(0, RAN_MAX);
}

export function keepHistory(projectId: string, history: readonly Ran[]): void {
  writeStored(nameOf(projectId), history);
}
