import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { projectRoute } from "@/app/parents";

const personsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "persons",
  component: lazyRouteComponent(() => import("./PersonsPage")),
});

const personRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "persons/$personId",
  component: lazyRouteComponent(() => import("./PersonPage")),
});

export const personsRoutes = [personsRoute, personRoute] as const;
