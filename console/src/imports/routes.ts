import { createRoute } from "@tanstack/react-router";
import { lazyScreen } from "@/app/lazyScreen";
import { projectRoute } from "@/app/parents";

const importRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "import",
  component: lazyScreen(() => import("./ImportPage")),
});

export const importsRoutes = [importRoute] as const;
