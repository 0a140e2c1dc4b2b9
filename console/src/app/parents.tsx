import { createRootRoute, createRoute, Outlet, redirect } from "@tanstack/react-router";
import { queryClient } from "@/app/queries";
import { Crashed, NotFound } from "@/app/Screens";
import { Shell } from "@/app/Shell";
import { LAST_PROJECT, meQuery, projectsQuery } from "@/app/session";
import { ProjectScreens } from "@/app/UnknownProject";
import { ApiError } from "@/lib/errors";
import { writeStored } from "@/lib/storage";

// Routes that other routes are below. Features import them; the router imports the features.

export const rootRoute = createRootRoute({
  component: Outlet,
  errorComponent: (error) => (
    <main>
      <Crashed {...error} />
    </main>
  ),
  notFoundComponent: () => (
    <main>
      <NotFound />
    </main>
  ),
});

/** The parent route of everything that needs a signed-in user. */
export const signedInRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: "signed-in",
  beforeLoad: async ({ location }) => {
    try {
      const me = await queryClient.ensureQueryData(meQuery);
      // Screens do not wait for it: they know their project by its number.
      void queryClient.prefetchQuery(projectsQuery);
      return { me };
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      throw redirect({
        to: "/login",
        search: location.href === "/" ? {} : { next: location.href },
      });
    }
  },
  component: Shell,
  // The page shows its frame until the session is known.
  pendingMs: Number.POSITIVE_INFINITY,
  errorComponent: Crashed,
});

/** The parent route of one project. */
export const projectRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: "project/$projectId",
  beforeLoad: ({ params }) => writeStored(LAST_PROJECT, params.projectId),
  component: ProjectScreens,
  notFoundComponent: NotFound,
});

/** The parent route of the user's own account. */
export const accountRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: "account",
});

/** The parent route of an organization. */
export const organizationRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: "organization",
});
