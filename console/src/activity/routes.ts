import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { projectRoute } from "@/app/parents";
import { readActivitySearch } from "./search";

const activityRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "activity",
  validateSearch: readActivitySearch,
  component: lazyRouteComponent(() => import("./ActivityPage")),
});

export const activityRoutes = [activityRoute] as const;
