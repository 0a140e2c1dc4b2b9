import { isComplete, type PropertyFilter } from "@/filters";
import { type Question, Reading, readConditions } from "@/insights";
import { type DateRange, isSameRange, readRange } from "@/ui/ranges";
import type { Dashboard } from "./queries";
import type { DashboardSearch } from "./search";

/** The period and filter that apply to all tiles. */
export interface Scope {
  /** undefined if each tile uses its own period */
  dates: DateRange | undefined;
  filters: readonly PropertyFilter[];
}

const PLACE = "properties";

/** Return the scope saved on the dashboard, or null if it cannot be shown. */
export function keptScope({ filters }: Pick<Dashboard, "filters">): Scope | null {
  const { date_from: from, date_to: to, properties } = filters as Record<string, unknown>;
  const reading = new Reading();
  const conditions = readConditions(reading, PLACE, properties);
  if (reading.problems.length > 0) return null;
  const hasDates = Boolean(from) || Boolean(to);
  return { dates: hasDates ? rangeOf(from, to) : undefined, filters: conditions };
}

function rangeOf(from: unknown, to: unknown): DateRange {
  return {
    ...(typeof from === "string" && from !== "all" && { from }),
    ...(typeof to === "string" && { to }),
  };
}

/** Return the scope with the URL's overrides applied. */
export const ownScope = (kept: Scope, search: DashboardSearch): Scope => ({
  dates: ownDates(kept.dates, search),
  filters:
    search.properties === undefined
      ? kept.filters
      : readConditions(new Reading(), PLACE, search.properties),
});

function ownDates(kept: Scope["dates"], { from, to, own }: DashboardSearch): Scope["dates"] {
  if (own) return undefined;
  if (from === undefined && to === undefined) return kept;
  if (from === "all") return rangeOf(from, to);
  const { range, isUnknown } = readRange(rangeOf(from, to), {});
  return isUnknown ? kept : range;
}

/** Return the URL parameters for a scope, without what matches the saved one. */
export function writeScope(kept: Scope, scope: Scope): DashboardSearch {
  const isKept = sameDates(kept.dates, scope.dates);
  const areKept = JSON.stringify(kept.filters) === JSON.stringify(scope.filters);
  return {
    ...(!isKept && datesIn(scope.dates)),
    ...(!areKept && { properties: [...scope.filters] }),
  };
}

export const isSameScope = (kept: Scope, scope: Scope): boolean =>
  Object.keys(writeScope(kept, scope)).length === 0;

const sameDates = (a: DateRange | undefined, b: DateRange | undefined): boolean =>
  a === undefined || b === undefined ? a === b : isSameRange(a, b);

function datesIn(dates: DateRange | undefined): DashboardSearch {
  if (dates === undefined) return { own: true };
  const { from, to } = dates;
  return {
    ...(from === undefined ? to === undefined && { from: "all" } : { from }),
    ...(to !== undefined && { to }),
  };
}

/** Return the scope in the API's format. */
export function filtersOfScope({ dates, filters }: Scope) {
  return {
    ...(dates !== undefined && {
      date_from: dates.from ?? "all",
      ...(dates.to !== undefined && { date_to: dates.to }),
    }),
    ...(filters.length > 0 && { properties: filters.filter(isComplete) }),
  };
}

/** Return a tile's question with the scope applied. */
export const scoped = (question: Question, { dates, filters }: Scope): Question => ({
  ...question,
  ...(dates !== undefined && { dates }),
  filters: [...question.filters, ...filters.filter(isComplete)],
});
