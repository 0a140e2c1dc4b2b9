import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { projectRoute } from "@/app/parents";
import { SDKS, type Sdk } from "@/lib/snippets";

export interface HomeSearch {
  /** Shows how to send events, also where some have come. */
  connect?: true;
  /** Whose lines are shown. */
  sdk?: Sdk;
}

function homeSearch(given: Record<string, unknown>): HomeSearch {
  const search: HomeSearch = given.connect === true ? { connect: true } : {};
  const sdk = SDKS.find((one) => one === given.sdk);
  if (sdk !== undefined) search.sdk = sdk;
  return search;
}

const homeRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "/",
  validateSearch: homeSearch,
  component: lazyRouteComponent(() => import("./HomePage")),
});

export const homeRoutes = [homeRoute] as const;
