import { createRoute, redirect } from "@tanstack/react-router";
import { lazyScreen } from "@/app/lazyScreen";
import { projectRoute } from "@/app/parents";
import { readInsightSearch } from "./search";

const insightsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "insights",
  beforeLoad: ({ params }) => {
    throw redirect({ to: "/project/$projectId/insights/new", params });
  },
});

const newInsightRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "insights/new",
  validateSearch: readInsightSearch,
  component: lazyScreen(() => import("./builder/InsightPage")),
});

export const insightsRoutes = [insightsRoute, newInsightRoute] as const;
