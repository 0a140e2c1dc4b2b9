import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { projectRoute } from "@/app/parents";
import { readPersonSearch, readPersonsSearch } from "./search";

const personsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "persons",
  validateSearch: readPersonsSearch,
  component: lazyRouteComponent(() => import("./PersonsPage")),
});

const personRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "persons/$personId",
  validateSearch: readPersonSearch,
  component: lazyRouteComponent(() => import("./PersonPage")),
});

export const personsRoutes = [personsRoute, personRoute] as const;
