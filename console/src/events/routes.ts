import { createRoute } from "@tanstack/react-router";
import { lazyScreen } from "@/app/lazyScreen";
import { projectRoute } from "@/app/parents";
import { readEventSearch, readEventsSearch, readPropertiesSearch } from "./search";

const eventsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "events",
  validateSearch: readEventsSearch,
  component: lazyScreen(() => import("./EventsPage")),
});

const eventRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "events/$definitionId",
  validateSearch: readEventSearch,
  component: lazyScreen(() => import("./EventPage")),
});

const propertiesRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "properties",
  validateSearch: readPropertiesSearch,
  component: lazyScreen(() => import("./PropertiesPage")),
});

export const eventsRoutes = [eventsRoute, eventRoute, propertiesRoute] as const;
