import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { api, dataOf } from "@/lib/api";
import { toastError } from "@/ui/Toast";

/** End the session, and go to the page for signing in. */
export function useSignOut(): () => Promise<void> {
  const navigate = useNavigate();
  const queries = useQueryClient();
  return async () => {
    try {
      await dataOf(api.POST("/api/logout/"));
      queries.clear();
      await navigate({ to: "/login" });
    } catch (error) {
      toastError(error);
    }
  };
}
