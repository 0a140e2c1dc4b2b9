import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { projectRoute } from "@/app/parents";

export interface LiveSearch {
  event?: string;
  distinct_id?: string;
  person_id?: string;
  /** Name of a property; with `value` those events whose property has it. */
  property?: string;
  value?: string;
  /** Only events of this browser's own distinct id. */
  mine?: true;
  /** Id of the event that is open. */
  open?: string;
}

const TEXTS = ["event", "distinct_id", "person_id", "property", "value", "open"] as const;

function liveSearch(given: Record<string, unknown>): LiveSearch {
  const search: LiveSearch = given.mine === true ? { mine: true } : {};
  for (const name of TEXTS) {
    const found = given[name];
    if (typeof found === "string" && found !== "") search[name] = found;
    // An address that was typed: 7 for a distinct id of digits.
    else if (typeof found === "number" || typeof found === "boolean") search[name] = String(found);
  }
  return search;
}

const liveRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "live",
  validateSearch: liveSearch,
  component: lazyRouteComponent(() => import("./LivePage")),
});

export const liveRoutes = [liveRoute] as const;
