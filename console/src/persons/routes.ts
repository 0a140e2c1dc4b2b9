import { createRoute } from "@tanstack/react-router";
import { lazyScreen } from "@/app/lazyScreen";
import { projectRoute } from "@/app/parents";
import { readPersonSearch, readPersonsSearch } from "./search";

const personsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "persons",
  validateSearch: readPersonsSearch,
  component: lazyScreen(() => import("./PersonsPage")),
});

const personRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "persons/$personId",
  validateSearch: readPersonSearch,
  component: lazyScreen(() => import("./PersonPage")),
});

export const personsRoutes = [personsRoute, personRoute] as const;
