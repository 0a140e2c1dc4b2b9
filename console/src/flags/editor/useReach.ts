import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { isComplete } from "@/filters";
import { useSettled } from "@/lib/hooks";
import { evenShares, type JsonObject, type Rules } from "../model";
import { type FlagReach, filtersToSend, reachQuery, type UnsavedFlag } from "../queries";

export interface Reach {
  /** The last result. */
  data: FlagReach | undefined;
  error: unknown;
  /** Whether the result is of the flag before the last change. */
  isCounting: boolean;
}

export const isConditionComplete = (condition: Rules["conditions"][number]): boolean =>
  condition.properties.every((one) => isComplete(one));

/** Counts the reach of each condition, 300 ms after the last relevant change. */
export function useReach(projectId: string, flagId: number | null, rules: Rules | null): Reach {
  const isReady = rules?.conditions.every(isConditionComplete) ?? false;
  const asked = useMemo(
    () => JSON.stringify(rules === null ? null : onlyConditions(rules)),
    [rules],
  );
  const settled = useSettled(asked);
  const flag: UnsavedFlag = {
    ...(flagId !== null && { id: flagId }),
    filters: filtersToSend(JSON.parse(settled) ?? { groups: [] }),
  };
  const query = useQuery({
    ...reachQuery(projectId, flag),
    enabled: isReady && settled === asked && asked !== "null",
    retry: false,
  });
  const isOfThis = query.data?.conditions.length === rules?.conditions.length;
  return {
    data: isOfThis ? query.data : undefined,
    error: isReady && !query.isFetching ? query.error : null,
    isCounting: isReady && (query.isFetching || settled !== asked),
  };
}

/** Variants have no part in it; they need not be complete for it. */
function onlyConditions({ raw, conditions, variants, groupTypeIndex }: Rules): JsonObject {
  const { payloads: _, multivariate: __, ...rest } = raw;
  const shares = evenShares(variants.length);
  return {
    ...rest,
    groups: conditions.map((one) => one.raw),
    aggregation_group_type_index: groupTypeIndex,
    ...(variants.length > 0 && {
      multivariate: {
        variants: variants.map(({ key }, at) => ({ key, rollout_percentage: shares[at] })),
      },
    }),
  };
}
