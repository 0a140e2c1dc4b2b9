import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { projectRoute } from "@/app/parents";

const liveRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "live",
  component: lazyRouteComponent(() => import("./LivePage")),
});

export const liveRoutes = [liveRoute] as const;
