import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { projectRoute } from "@/app/parents";

const ingestionRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "ingestion",
  component: lazyRouteComponent(() => import("./IngestionPage")),
});

export const ingestionRoutes = [ingestionRoute] as const;
