import { createRoute } from "@tanstack/react-router";
import { lazyScreen } from "@/app/lazyScreen";
import { projectRoute } from "@/app/parents";
import { readActivitySearch } from "./search";

const activityRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "activity",
  validateSearch: readActivitySearch,
  component: lazyScreen(() => import("./ActivityPage")),
});

export const activityRoutes = [activityRoute] as const;
