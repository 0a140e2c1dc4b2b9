/** The figures of the overview, by API names: for a site, and for a goal. */
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
  /** The change from the previous period in percent; null if undefined. */
  change: number | null;
  isIncreaseBad: boolean;
}

/** Parse the overview's figures; the API schema does not describe them. */
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

/** Return the change between two numbers in whole percent, as the API computes it. */
export function changeOf(now: number | null, before: number | null): number | null {
  return now === null || !before ? null : Math.round((100 * (now - before)) / before);
}

/** Figures that a trend can chart over time. */
export const canBeDrawn = (name: FigureName): boolean => name !== "conversion rate";

/** Figures whose points count persons, who can be listed. */
export const hasPersons = (name: FigureName): boolean =>
  !["session duration", "bounce rate", "conversion rate"].includes(name);
