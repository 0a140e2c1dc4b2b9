import { createRoute } from "@tanstack/react-router";
import { lazyScreen } from "@/app/lazyScreen";
import { rootRoute } from "@/app/parents";

const loginRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "login",
  validateSearch: (search): { next?: string } =>
    typeof search.next === "string" ? { next: search.next } : {},
  component: lazyScreen(() => import("./LoginPage")),
});

export const signInRoutes = [loginRoute] as const;
