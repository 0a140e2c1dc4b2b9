import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { projectRoute } from "@/app/parents";

const eventsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "events",
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
  component: lazyRouteComponent(() => import("./PropertiesPage")),
});

export const eventsRoutes = [eventsRoute, eventRoute, propertiesRoute] as const;
