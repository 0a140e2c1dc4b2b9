import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { projectRoute } from "@/app/parents";
import { readLiveSearch } from "./search";

const liveRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "live",
  validateSearch: readLiveSearch,
  component: lazyRouteComponent(() => import("./LivePage")),
});

export const liveRoutes = [liveRoute] as const;
