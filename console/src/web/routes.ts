import { createRoute } from "@tanstack/react-router";
import { lazyScreen } from "@/app/lazyScreen";
import { projectRoute } from "@/app/parents";
import { readWebSearch } from "./search";

const webRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "web",
  validateSearch: readWebSearch,
  component: lazyScreen(() => import("./WebPage")),
});

export const webRoutes = [webRoute] as const;
