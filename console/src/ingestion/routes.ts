import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { projectRoute } from "@/app/parents";

export const SPANS = ["1h", "24h", "7d", "30d"] as const;
export type Span = (typeof SPANS)[number];

export interface IngestionSearch {
  /** The period of the ledger; an hour by default. */
  span?: Span;
  /** An event that is looked for: by its uuid, or by the distinct id that it was sent with. */
  find?: string;
  /** Id of the dead letter that is open. */
  letter?: number;
}

function ingestionSearch(given: Record<string, unknown>): IngestionSearch {
  const search: IngestionSearch = {};
  const span = SPANS.find((one) => one === given.span);
  if (span !== undefined) search.span = span;
  if (typeof given.find === "string" && given.find !== "") search.find = given.find;
  else if (typeof given.find === "number") search.find = String(given.find);
  if (typeof given.letter === "number") search.letter = given.letter;
  return search;
}

const ingestionRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "ingestion",
  validateSearch: ingestionSearch,
  component: lazyRouteComponent(() => import("./IngestionPage")),
});

export const ingestionRoutes = [ingestionRoute] as const;
