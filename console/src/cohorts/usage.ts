import type { components } from "@/lib/schema";
import type { Cohort } from "./queries";

type Flag = components["schemas"]["FlagBody"];

const COHORT_TYPES = ["cohort", "static-cohort", "precalculated-cohort"];

/** Ids of the cohorts that conditions refer to, wherever in these they stand. */
export function cohortsIn(value: unknown): Set<string> {
  const found = new Set<string>();
  const look = (one: unknown) => {
    if (typeof one !== "object" || one === null) return;
    const { type, value: id } = { type: undefined, value: undefined, ...one };
    if (COHORT_TYPES.includes(String(type)) && (typeof id === "number" || typeof id === "string")) {
      found.add(String(id));
    }
    for (const part of Object.values(one)) look(part);
  };
  look(value);
  return found;
}

export function usersOf(
  id: number,
  all: { flags: readonly Flag[]; cohorts: readonly Cohort[] },
): { flags: Flag[]; cohorts: Cohort[] } {
  const refers = ({ filters }: { filters: unknown }) => cohortsIn(filters).has(String(id));
  return { flags: all.flags.filter(refers), cohorts: all.cohorts.filter(refers) };
}
