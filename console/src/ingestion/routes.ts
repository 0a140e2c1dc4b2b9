import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { projectRoute } from "@/app/parents";
import { readIngestionSearch } from "./search";

const ingestionRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "ingestion",
  validateSearch: readIngestionSearch,
  component: lazyRouteComponent(() => import("./IngestionPage")),
});

export const ingestionRoutes = [ingestionRoute] as const;
