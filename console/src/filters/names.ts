import { useQueries, useQuery } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import type { PropertyFilter } from "./model";
import { valuesOf } from "./model";
import type { FilterNames } from "./sentence";

const FRESH_MS = 60_000;

/** Names of the cohorts, segments and flags in conditions, as they become known. */
export function useFilterNames(
  filters: readonly PropertyFilter[],
): FilterNames & { isPending: boolean } {
  const cohortIds = idsOf(filters, "cohort", (filter) => valuesOf(filter)[0]);
  const segmentIds = idsOf(filters, "segment", (filter) => valuesOf(filter)[0]);
  // Conditions on flags may name them by id.
  const flagIds = idsOf(filters, "flag", (filter) => filter.key);

  const cohorts = useLoaded("cohort-name", cohortIds, readCohortName);
  const segments = useLoaded("segment-name", segmentIds, readSegmentName);
  const flags = useLoaded("flag-key", flagIds, readFlagKey);
  return {
    isPending: [...cohorts, ...segments, ...flags].some((name) => name.isPending),
    cohort: (id) => cohorts[cohortIds.indexOf(Number(id))]?.data,
    segment: (id) => segments[segmentIds.indexOf(Number(id))]?.data,
    flag: (key) => flags[flagIds.indexOf(Number(key))]?.data,
  };
}

function useLoaded(
  kind: string,
  ids: readonly number[],
  read: (projectId: string, id: number) => Promise<string>,
) {
  const projectId = useProjectId();
  return useQueries({
    queries: ids.map((id) => ({
      queryKey: [projectId, kind, id],
      queryFn: () => read(projectId, id),
      staleTime: FRESH_MS,
      retry: false,
    })),
  });
}

const NO_TYPES: readonly string[] = [];

/** The names of the project's group types by index. */
export function useGroupTypes(isNeeded = true): readonly string[] {
  const projectId = useProjectId();
  const types = useQuery({
    queryKey: [projectId, "group-types"],
    queryFn: ({ signal }) => readGroupTypes(projectId, signal),
    staleTime: FRESH_MS,
    enabled: isNeeded,
  });
  return types.data ?? NO_TYPES;
}

async function readGroupTypes(projectId: string, signal: AbortSignal): Promise<string[]> {
  const path = { project_id: projectId };
  const types = await dataOf(
    api.GET("/api/projects/{project_id}/groups_types/", { params: { path }, signal }),
  );
  const names: string[] = [];
  for (const type of types) names[type.group_type_index] = type.name_singular ?? type.group_type;
  return names;
}

function idsOf(
  filters: readonly PropertyFilter[],
  type: PropertyFilter["type"],
  idOf: (filter: PropertyFilter) => unknown,
): number[] {
  const ids = filters.filter((one) => one.type === type).map((one) => Number(idOf(one)));
  return [...new Set(ids)].filter((id) => Number.isInteger(id) && id > 0);
}

async function readCohortName(projectId: string, id: number): Promise<string> {
  const path = { project_id: projectId, id };
  const cohort = await dataOf(
    api.GET("/api/projects/{project_id}/cohorts/{id}/", { params: { path } }),
  );
  return cohort.name ?? String(id);
}

async function readSegmentName(projectId: string, id: number): Promise<string> {
  const path = { project_id: projectId, id };
  const segment = await dataOf(
    api.GET("/api/projects/{project_id}/segments/{id}/", { params: { path } }),
  );
  return segment.name;
}

async function readFlagKey(projectId: string, id: number): Promise<string> {
  const path = { project_id: projectId, id };
  const flag = await dataOf(
    api.GET("/api/projects/{project_id}/feature_flags/{id}/", { params: { path } }),
  );
  return flag.key;
}
