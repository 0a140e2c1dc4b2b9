import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { accountRoute, organizationRoute, projectRoute } from "@/app/parents";

export const ACCOUNT_TABS = ["profile", "password", "factor", "sessions", "keys"] as const;
export const ORGANIZATION_TABS = ["members", "invites", "roles", "signIn"] as const;
export const PROJECT_TABS = ["general", "keys", "ingestion", "testAccounts", "webhooks"] as const;

/** The tab of the address, if there is one of that name. */
function tabOf<T extends string>(tabs: readonly T[]) {
  return (search: Record<string, unknown>): { tab?: T } => {
    const tab = tabs.find((one) => one === search.tab);
    return tab === undefined ? {} : { tab };
  };
}

const accountPageRoute = createRoute({
  getParentRoute: () => accountRoute,
  path: "/",
  validateSearch: tabOf(ACCOUNT_TABS),
  component: lazyRouteComponent(() => import("./account/AccountPage")),
});

const organizationPageRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: "/",
  validateSearch: tabOf(ORGANIZATION_TABS),
  component: lazyRouteComponent(() => import("./organization/OrganizationPage")),
});

const projectSettingsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "settings",
  validateSearch: tabOf(PROJECT_TABS),
  component: lazyRouteComponent(() => import("./project/ProjectSettingsPage")),
});

export const accountRoutes = [accountPageRoute] as const;
export const organizationRoutes = [organizationPageRoute] as const;
export const projectSettingsRoutes = [projectSettingsRoute] as const;
