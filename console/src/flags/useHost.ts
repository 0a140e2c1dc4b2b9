import { useQuery } from "@tanstack/react-query";
import { preflightQuery } from "@/app/session";
import { captureUrl } from "@/lib/snippets";

/** The address at which SDKs reach the server. */
export function useHost(): string {
  return captureUrl(useQuery(preflightQuery).data?.capture_url ?? null);
}
