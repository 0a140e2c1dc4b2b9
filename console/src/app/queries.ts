import {
  type InvalidateOptions,
  type InvalidateQueryFilters,
  QueryClient,
  type QueryFilters,
  type QueryKey,
} from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { ApiError } from "@/lib/errors";

const RETRIES_MAX = 2;

function isWorthAgain(failures: number, error: unknown): boolean {
  const isTransient =
    error instanceof ApiError && (error.isUnreachable || [502, 503, 504].includes(error.status));
  return isTransient && failures < RETRIES_MAX;
}

/** A client that also restarts the first read of a screen when its data has changed.
 *
 * TanStack lets a first read go on, though it may have been answered before the change.
 */
class FreshQueryClient extends QueryClient {
  override invalidateQueries<Key extends QueryKey = QueryKey>(
    filters?: InvalidateQueryFilters<Key>,
    options?: InvalidateOptions,
  ): Promise<void> {
    if (filters?.refetchType !== "none") {
      for (const query of this.getQueryCache().findAll({ ...filters, type: "active" })) {
        if (query.state.data === undefined) void query.cancel({ silent: true });
      }
    }
    return super.invalidateQueries(filters, options);
  }
}

/** Answers are kept for a screen that is opened again, and asked anew behind it. */
export const queryClient = new FreshQueryClient({
  defaultOptions: {
    // Requests are sent even if the browser thinks it is offline: pausing them would report nothing,
    // and would send a change hours later.
    queries: {
      staleTime: 5_000,
      gcTime: 10 * 60_000,
      retry: isWorthAgain,
      retryDelay: 400,
      networkMode: "always",
    },
    mutations: { retry: false, networkMode: "always" },
  },
});

const subscribe = (listener: () => void) => queryClient.getQueryCache().subscribe(listener);

/** Whether any of these queries is being fetched. */
export const useIsFetching = (filters: QueryFilters): boolean =>
  useSyncExternalStore(subscribe, () => queryClient.isFetching(filters) > 0);
