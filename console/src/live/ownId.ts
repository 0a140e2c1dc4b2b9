import { useProjectId } from "@/app/session";
import { isText, useStored } from "@/lib/storage";
import type { LiveEvent } from "./liveEvent";

const CANDIDATES_MAX = 5;

/** The distinct id of this browser in the project's own site, as its user has told it; "" for none. */
export const useOwnId = (): [string, (id: string) => void] =>
  useStored(`live.own.${useProjectId()}`, "", isText);

/** Distinct ids whose events came from a browser that names itself as this one, the newest first. */
export function candidates(events: readonly LiveEvent[]): string[] {
  const alike = events.filter((event) =>
    ["$raw_user_agent", "$user_agent"].some(
      (name) => event.properties[name] === navigator.userAgent,
    ),
  );
  return [...new Set(alike.map((event) => event.distinct_id))].slice(0, CANDIDATES_MAX);
}
