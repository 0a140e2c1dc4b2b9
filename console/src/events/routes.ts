import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { projectRoute } from "@/app/parents";
import { readEventsSearch, readPropertiesSearch } from "./search";

const eventsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "events",
  validateSearch: readEventsSearch,
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
  validateSearch: readPropertiesSearch,
  component: lazyRouteComponent(() => import("./PropertiesPage")),
});

export const eventsRoutes = [eventsRoute, eventRoute, propertiesRoute] as const;
