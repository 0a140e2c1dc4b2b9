import { createRoute } from "@tanstack/react-router";
import { lazyScreen } from "@/app/lazyScreen";
import { projectRoute } from "@/app/parents";
import { readNamedItemsSearch } from "@/namedItems";

const segmentsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "segments",
  validateSearch: readNamedItemsSearch,
  component: lazyScreen(() => import("./SegmentsPage")),
});

const newSegmentRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "segments/new",
  component: lazyScreen(() => import("./NewSegmentPage")),
});

const segmentRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "segments/$segmentId",
  component: lazyScreen(() => import("./SegmentPage")),
});

export const segmentsRoutes = [segmentsRoute, newSegmentRoute, segmentRoute] as const;
