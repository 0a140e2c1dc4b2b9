import { lazyRouteComponent, type RouteComponent } from "@tanstack/react-router";
import { loadPart } from "@/lib/parts";

/** A screen that is loaded when it is opened first, or when a link to it is pointed at. */
export const lazyScreen = (load: () => Promise<{ default: RouteComponent }>): RouteComponent =>
  lazyRouteComponent(() => loadPart(load));
