import { createRoute } from "@tanstack/react-router";
import { lazyScreen } from "@/app/lazyScreen";
import { accountRoute, organizationRoute, projectRoute } from "@/app/parents";
import { ACCOUNT_TABS, ORGANIZATION_TABS, PROJECT_TABS, tabIn } from "./search";

const accountPageRoute = createRoute({
  getParentRoute: () => accountRoute,
  path: "/",
  validateSearch: tabIn(ACCOUNT_TABS),
  component: lazyScreen(() => import("./account/AccountPage")),
});

const organizationPageRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: "/",
  validateSearch: tabIn(ORGANIZATION_TABS),
  component: lazyScreen(() => import("./organization/OrganizationPage")),
});

const projectSettingsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "settings",
  validateSearch: tabIn(PROJECT_TABS),
  component: lazyScreen(() => import("./project/ProjectSettingsPage")),
});

export const accountRoutes = [accountPageRoute] as const;
export const organizationRoutes = [organizationPageRoute] as const;
export const projectSettingsRoutes = [projectSettingsRoute] as const;
