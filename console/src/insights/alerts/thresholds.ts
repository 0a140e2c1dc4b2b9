import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useProjectId } from "@/app/session";
import type { Threshold } from "@/charts";
import { words } from "@/words/alerts";
import { type Alert, alertsQuery } from "./queries";

/** The levels at which the alerts of an insight fire. Changes have none. */
export function useThresholds(insightId: number): readonly Threshold[] {
  const alerts = useQuery(alertsQuery(useProjectId())).data;
  return useMemo(
    () => (alerts ?? []).filter(({ insight }) => insight === insightId).flatMap(thresholdOf),
    [alerts, insightId],
  );
}

function thresholdOf({ name, enabled, condition, threshold: value }: Alert): Threshold[] {
  if (!enabled || (condition !== "above" && condition !== "below")) return [];
  return [{ name: words.firesAt(name, condition), value }];
}
