import { createRoute } from "@tanstack/react-router";
import { lazyScreen } from "@/app/lazyScreen";
import { projectRoute } from "@/app/parents";

const exportsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "exports",
  component: lazyScreen(() => import("./ExportsPage")),
});

export const exportsRoutes = [exportsRoute] as const;
