import { createRoute } from "@tanstack/react-router";
import { lazyScreen } from "@/app/lazyScreen";
import { projectRoute } from "@/app/parents";
import { readIngestionSearch } from "./search";

const ingestionRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "ingestion",
  validateSearch: readIngestionSearch,
  component: lazyScreen(() => import("./IngestionPage")),
});

export const ingestionRoutes = [ingestionRoute] as const;
