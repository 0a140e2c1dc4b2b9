import { type Given, present, textOf } from "@/lib/searchParams";

export interface DashboardsSearch {
  q?: string;
  generated?: true;
  deleted?: true;
}

export interface DashboardSearch {
  /** The viewer's own period, which overrides the dashboard's. */
  from?: string;
  to?: string;
  /** Let each tile use its own period, ignoring the dashboard's. */
  own?: true;
  /** Conditions that replace the dashboard's. */
  properties?: unknown[];
  /** The tile and number whose persons are shown. */
  behind?: Given;
  /** Full screen, refreshed after this many seconds; 0 means never. */
  full?: number;
}

const onlyTrue = (given: unknown): true | undefined => (given === true ? true : undefined);

export const readDashboardsSearch = (given: Given): DashboardsSearch =>
  present<DashboardsSearch>({
    q: textOf(given.q),
    generated: onlyTrue(given.generated),
    deleted: onlyTrue(given.deleted),
  });

export const readDashboardSearch = (given: Given): DashboardSearch =>
  present<DashboardSearch>({
    from: textOf(given.from),
    to: textOf(given.to),
    own: onlyTrue(given.own),
    properties: Array.isArray(given.properties) ? given.properties : undefined,
    behind:
      typeof given.behind === "object" && given.behind !== null
        ? (given.behind as Given)
        : undefined,
    full:
      typeof given.full === "number" && given.full >= 0 && given.full <= 86_400
        ? given.full
        : undefined,
  });
