import { queryOptions, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useFilterNames } from "@/filters";
import { api, dataOf } from "@/lib/api";
import type { Rules } from "./model";
import type { Names } from "./sentence";

const COHORTS_MAX = 1000;

export const groupTypesQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["groups", projectId, "types"],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/groups_types/", {
          params: { path: { project_id: projectId } },
          signal,
        }),
      ),
    staleTime: 60_000,
  });

const cohortNamesQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["cohorts", projectId, "names"],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/cohorts/", {
          params: {
            path: { project_id: projectId },
            query: { basic: true, limit: COHORTS_MAX },
          },
          signal,
        }),
      ),
    staleTime: 60_000,
  });

/** The names of cohorts and group types for sentences, which show ids until these are loaded. */
export function useNames(projectId: string): Names {
  return useListedNames(projectId).names;
}

function useListedNames(projectId: string) {
  const { data: types, isPending: areTypesPending } = useQuery(groupTypesQuery(projectId));
  const { data: cohorts, isPending: areCohortsPending } = useQuery(cohortNamesQuery(projectId));
  const names = useMemo(
    () => ({
      cohorts: new Map(cohorts?.results.map(({ id, name }) => [String(id), name ?? String(id)])),
      groupTypes: new Map(types?.map((one) => [one.group_type_index, one.group_type])),
    }),
    [types, cohorts],
  );
  return { names, areTypesPending, areCohortsPending };
}

/** The names of `useNames`, plus the keys of flags that rules depend on. pending: for the rules */
export function useRuleNames(
  projectId: string,
  rules: Rules | null,
): { names: Names; isPending: boolean } {
  const { names, areTypesPending, areCohortsPending } = useListedNames(projectId);
  const properties = (rules?.conditions ?? []).flatMap((condition) => condition.properties);
  const asked = properties.filter((property) => property.type === "flag");
  const { flag, isPending } = useFilterNames(asked);
  const hasCohort = properties.some((property) => property.type === "cohort");
  return {
    names: { ...names, flags: new Map(asked.map(({ key }) => [key, flag?.(key) ?? key])) },
    isPending: isPending || areTypesPending || (hasCohort && areCohortsPending),
  };
}
