import { createRoute } from "@tanstack/react-router";
import { lazyScreen } from "@/app/lazyScreen";
import { projectRoute } from "@/app/parents";
import { readAnnotationsSearch } from "./search";

const annotationsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "annotations",
  validateSearch: readAnnotationsSearch,
  component: lazyScreen(() => import("./AnnotationsPage")),
});

export const annotationsRoutes = [annotationsRoute] as const;
