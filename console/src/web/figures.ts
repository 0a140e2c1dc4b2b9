/** The figures of the overview, in the names of the API: of a site, and of a goal. */
export const FIGURE_NAMES = [
  "visitors",
  "views",
  "sessions",
  "session duration",
  "bounce rate",
  "total conversions",
  "unique conversions",
  "conversion rate",
] as const;
export type FigureName = (typeof FIGURE_NAMES)[number];

export type Unit = "unit" | "duration_s" | "percentage";

export interface Figure {
  name: FigureName;
  unit: Unit;
  value: number | null;
  previous: number | null;
  /** By how many percent it differs from the period before; null where that cannot be said. */
  change: number | null;
  isIncreaseBad: boolean;
}

/** Return the figures of the overview's answer, which the schema leaves open. */
export function readFigures(results: unknown): Figure[] {
  if (!Array.isArray(results)) return [];
  return results.flatMap((item: Record<string, unknown>) => {
    const name = FIGURE_NAMES.find((one) => one === item.key);
    if (name === undefined) return [];
    return [
      {
        name,
        unit: item.kind as Unit,
        value: numberOf(item.value),
        previous: numberOf(item.previous),
        change: numberOf(item.changeFromPreviousPct),
        isIncreaseBad: item.isIncreaseBad === true,
      },
    ];
  });
}

const numberOf = (given: unknown): number | null => (typeof given === "number" ? given : null);

/** Return by how many whole percent a number differs from the one before, as the API does. */
export function changeOf(now: number | null, before: number | null): number | null {
  return now === null || !before ? null : Math.round((100 * (now - before)) / before);
}

/** Figures that trends can tell over time. */
export const canBeDrawn = (name: FigureName): boolean => name !== "conversion rate";

/** Figures whose numbers over time are of persons, who can be listed. */
export const hasPersons = (name: FigureName): boolean =>
  !["session duration", "bounce rate", "conversion rate"].includes(name);
