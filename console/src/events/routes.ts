import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { projectRoute } from "@/app/parents";

export const KINDS = ["all", "custom", "system"] as const;
export const MARKS = ["all", "verified", "hidden", "every"] as const;
export const OWNERS = ["event", "person", "group"] as const;
export type Kind = (typeof KINDS)[number];
export type Mark = (typeof MARKS)[number];
export type Owner = (typeof OWNERS)[number];

type Given = Record<string, unknown>;

export interface EventsSearch {
  q?: string;
  kind?: Kind;
  mark?: Mark;
  /** A column, with a minus for descending. */
  sort?: string;
}

export interface PropertiesSearch {
  of?: Owner;
  q?: string;
  /** Name of the property that is open. */
  open?: string;
  group?: number;
  sort?: string;
}

/** A URL may be written by hand, so parameters without a meaning are ignored. */
function textsOf<Name extends string>(given: Given, names: readonly Name[]) {
  const found: { [One in Name]?: string } = {};
  for (const name of names) {
    const value = given[name];
    if (typeof value === "string" && value !== "") found[name] = value;
    else if (typeof value === "number") found[name] = String(value);
  }
  return found;
}

function eventsSearch(given: Given): EventsSearch {
  const search: EventsSearch = textsOf(given, ["q", "sort"]);
  const kind = KINDS.find((one) => one === given.kind);
  const mark = MARKS.find((one) => one === given.mark);
  if (kind !== undefined) search.kind = kind;
  if (mark !== undefined) search.mark = mark;
  return search;
}

function propertiesSearch(given: Given): PropertiesSearch {
  const search: PropertiesSearch = textsOf(given, ["q", "open", "sort"]);
  const owner = OWNERS.find((one) => one === given.of);
  if (owner !== undefined) search.of = owner;
  if (typeof given.group === "number") search.group = given.group;
  return search;
}

const eventsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "events",
  validateSearch: eventsSearch,
  component: lazyRouteComponent(() => import("./EventsPage")),
});

const eventRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "events/$definitionId",
  component: lazyRouteComponent(() => import("./EventPage")),
});

const propertiesRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "properties",
  validateSearch: propertiesSearch,
  component: lazyRouteComponent(() => import("./PropertiesPage")),
});

export const eventsRoutes = [eventsRoute, eventRoute, propertiesRoute] as const;
