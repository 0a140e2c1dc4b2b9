import { type Given, present, textOf } from "@/lib/searchParams";

export interface DashboardsSearch {
  q?: string;
  generated?: true;
  deleted?: true;
}

export interface DashboardSearch {
  /** The own period of whoever looks, in place of the dashboard's. */
  from?: string;
  to?: string;
  /** Each tile has its own period, whatever the dashboard has. */
  own?: true;
  /** Conditions in place of the dashboard's. */
  properties?: unknown[];
  /** The tile and the place of the number whose persons are shown. */
  behind?: Given;
  /** Fills the screen, and is asked anew after so many seconds; 0: never. */
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
