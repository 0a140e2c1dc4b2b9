import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { projectRoute } from "@/app/parents";

export const GROUP_TABS = ["properties", "events", "flags"] as const;
export type GroupTab = (typeof GROUP_TABS)[number];

export interface GroupsSearch {
  /** Index of the group type. */
  type?: number;
  q?: string;
}

export interface GroupSearch {
  tab?: GroupTab;
  /** The event that is open. */
  open?: string;
}

type Given = Record<string, unknown>;

const textOf = (given: unknown): string | undefined =>
  typeof given === "number"
    ? String(given)
    : typeof given === "string" && given
      ? given
      : undefined;

const groupsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "groups",
  validateSearch: (given: Given): GroupsSearch => {
    const q = textOf(given.q);
    return {
      ...(typeof given.type === "number" && given.type > 0 && { type: given.type }),
      ...(q !== undefined && { q }),
    };
  },
  component: lazyRouteComponent(() => import("./GroupsPage")),
});

const groupRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "groups/$typeIndex/$groupKey",
  validateSearch: (given: Given): GroupSearch => {
    const tab = GROUP_TABS.find((one) => one === given.tab);
    const open = textOf(given.open);
    return { ...(tab !== undefined && { tab }), ...(open !== undefined && { open }) };
  },
  component: lazyRouteComponent(() => import("./GroupPage")),
});

export const groupsRoutes = [groupsRoute, groupRoute] as const;
