import { createRoute } from "@tanstack/react-router";
import { lazyScreen } from "@/app/lazyScreen";
import { projectRoute } from "@/app/parents";
import { readLiveSearch } from "./search";

const liveRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "live",
  validateSearch: readLiveSearch,
  component: lazyScreen(() => import("./LivePage")),
});

export const liveRoutes = [liveRoute] as const;
