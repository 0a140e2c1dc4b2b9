import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { accountRoute, organizationRoute, projectRoute } from "@/app/parents";

const accountPageRoute = createRoute({
  getParentRoute: () => accountRoute,
  path: "/",
  component: lazyRouteComponent(() => import("./AccountPage")),
});

const organizationPageRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: "/",
  component: lazyRouteComponent(() => import("./OrganizationPage")),
});

const projectSettingsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "settings",
  component: lazyRouteComponent(() => import("./ProjectSettingsPage")),
});

export const accountRoutes = [accountPageRoute] as const;
export const organizationRoutes = [organizationPageRoute] as const;
export const projectSettingsRoutes = [projectSettingsRoute] as const;
