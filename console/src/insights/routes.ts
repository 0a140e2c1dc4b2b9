import { createRoute } from "@tanstack/react-router";
import { lazyScreen } from "@/app/lazyScreen";
import { projectRoute } from "@/app/parents";
import { readInsightsSearch, readSavedSearch } from "./saved/search";
import { readInsightSearch } from "./search";
import { readSqlSearch } from "./sql/search";

const insightsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "insights",
  validateSearch: readInsightsSearch,
  component: lazyScreen(() => import("./saved/InsightsPage")),
});

const newInsightRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "insights/new",
  validateSearch: readInsightSearch,
  component: lazyScreen(() => import("./builder/InsightPage")),
});

const insightRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "insights/$insightId",
  validateSearch: readSavedSearch,
  component: lazyScreen(() => import("./saved/SavedPage")),
});

const sqlRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "sql",
  validateSearch: readSqlSearch,
  component: lazyScreen(() => import("./sql/SqlPage")),
});

export const insightsRoutes = [insightsRoute, newInsightRoute, insightRoute, sqlRoute] as const;
