import { createRoute } from "@tanstack/react-router";
import { lazyScreen } from "@/app/lazyScreen";
import { projectRoute } from "@/app/parents";
import { readExperimentSearch, readExperimentsSearch, readNewExperimentSearch } from "./search";

const experimentsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "experiments",
  validateSearch: readExperimentsSearch,
  component: lazyScreen(() => import("./ExperimentsPage")),
});

const newExperimentRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "experiments/new",
  validateSearch: readNewExperimentSearch,
  component: lazyScreen(() => import("./NewExperimentPage")),
});

const experimentRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "experiments/$experimentId",
  validateSearch: readExperimentSearch,
  component: lazyScreen(() => import("./ExperimentPage")),
});

export const experimentsRoutes = [experimentsRoute, newExperimentRoute, experimentRoute] as const;
