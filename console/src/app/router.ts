import { createRoute, createRouter, redirect } from "@tanstack/react-router";
import { actionsRoutes } from "@/actions/routes";
import { activityRoutes } from "@/activity/routes";
import { annotationsRoutes } from "@/annotations/routes";
import {
  accountRoute,
  organizationRoute,
  projectRoute,
  rootRoute,
  signedInRoute,
} from "@/app/parents";
import { queryClient } from "@/app/queries";
import { Crashed, NotFound, Opening } from "@/app/Screens";
import { LAST_PROJECT, meQuery, projectsQuery } from "@/app/session";
import { cohortsRoutes } from "@/cohorts/routes";
import { dashboardsRoutes, sharedRoutes } from "@/dashboards/routes";
import { eventsRoutes } from "@/events/routes";
import { experimentsRoutes } from "@/experiments/routes";
import { exportsRoutes } from "@/exports/routes";
import { flagsRoutes } from "@/flags/routes";
import { groupsRoutes } from "@/groups/routes";
import { homeRoutes } from "@/home/routes";
import { importsRoutes } from "@/imports/routes";
import { ingestionRoutes } from "@/ingestion/routes";
import { insightsRoutes } from "@/insights/routes";
import { SECOND_FACTOR_NEEDED } from "@/lib/api";
import { ApiError } from "@/lib/errors";
import { prefix } from "@/lib/prefix";
import { isText, readStored } from "@/lib/storage";
import { liveRoutes } from "@/live/routes";
import { personsRoutes } from "@/persons/routes";
import { segmentsRoutes } from "@/segments/routes";
import { accountRoutes, organizationRoutes, projectSettingsRoutes } from "@/settings/routes";
import { signInRoutes } from "@/signin/routes";
import { webRoutes } from "@/web/routes";

/** `/`: the project that this browser showed last. */
const startRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: "/",
  beforeLoad: async () => {
    const projects = await queryClient.ensureQueryData(projectsQuery).catch(leadToSecondFactor);
    const me = await queryClient.ensureQueryData(meQuery);
    const ids = projects.map((one) => String(one.id));
    const [found] = [readStored(LAST_PROJECT, "", isText), String(me.project?.id), ...ids].filter(
      (id) => ids.includes(id),
    );
    if (found === undefined) throw redirect({ to: "/account" });
    throw redirect({ to: "/project/$projectId", params: { projectId: found } });
  },
});

/** Lead a member who has to set up a second factor to where this is done. */
function leadToSecondFactor(error: unknown): never {
  if (!(error instanceof ApiError) || error.code !== SECOND_FACTOR_NEEDED) throw error;
  throw redirect({ to: "/account", search: { tab: "factor" } });
}

const routeTree = rootRoute.addChildren([
  ...signInRoutes,
  ...sharedRoutes,
  signedInRoute.addChildren([
    startRoute,
    accountRoute.addChildren([...accountRoutes]),
    organizationRoute.addChildren([...organizationRoutes]),
    projectRoute.addChildren([
      ...homeRoutes,
      ...liveRoutes,
      ...insightsRoutes,
      ...dashboardsRoutes,
      ...webRoutes,
      ...flagsRoutes,
      ...experimentsRoutes,
      ...personsRoutes,
      ...groupsRoutes,
      ...cohortsRoutes,
      ...eventsRoutes,
      ...annotationsRoutes,
      ...actionsRoutes,
      ...importsRoutes,
      ...exportsRoutes,
      ...segmentsRoutes,
      ...ingestionRoutes,
      ...activityRoutes,
      ...projectSettingsRoutes,
    ]),
  ]),
]);

export const router = createRouter({
  routeTree,
  basepath: prefix || "/",
  defaultPreload: "intent",
  defaultPreloadStaleTime: 0,
  defaultPendingMs: 150,
  defaultPendingMinMs: 0,
  defaultPendingComponent: Opening,
  defaultNotFoundComponent: NotFound,
  // In place of the screen alone: the navigation stays.
  defaultErrorComponent: Crashed,
  scrollRestoration: true,
});

// The parts of a screen are loaded while its session is checked.
router.subscribe("onBeforeLoad", ({ toLocation }) => {
  const [routes] = router.getMatchedRoutes(toLocation.pathname);
  for (const route of routes) void router.loadRouteChunk(route);
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
