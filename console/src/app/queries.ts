import { QueryClient } from "@tanstack/react-query";
import { ApiError } from "@/lib/errors";

const RETRIES_MAX = 2;

function isWorthAgain(failures: number, error: unknown): boolean {
  const isTransient =
    error instanceof ApiError && (error.isUnreachable || [502, 503, 504].includes(error.status));
  return isTransient && failures < RETRIES_MAX;
}

/** Answers are kept for a screen that is opened again, and asked anew behind it. */
export const queryClient = new QueryClient({
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
