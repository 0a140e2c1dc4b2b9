import type { FetchOptions } from "openapi-fetch";
import type { paths } from "@/lib/schema";
import { isObject, isObjects } from "./model";

// Bodies of requests, with the types of the schema.

type Flags = paths["/api/projects/{project_id}/feature_flags/"];
type OneFlag = paths["/api/projects/{project_id}/feature_flags/{id}/"];
type Reach = paths["/api/projects/{project_id}/feature_flags/reach/"];
type Reasons = paths["/api/projects/{project_id}/feature_flags/evaluation_reasons/"];
type BodyOf<T> = NonNullable<FetchOptions<T>["body"]>;

export type FlagChanges = BodyOf<OneFlag["patch"]>;
export type NewFlag = BodyOf<Flags["post"]>;
export type UnsavedFlag = BodyOf<Reach["post"]>;
export type UnsavedEvaluation = BodyOf<Reasons["post"]>;
/** The fields as requests accept them. */
export type FlagFilters = NonNullable<FlagChanges["filters"]>;
/** The server checks the rest. throws: Error for what has no conditions at all */
export function filtersToSend(filters: unknown): FlagFilters {
  if (!isFilters(filters)) throw new Error("filters have no groups");
  return filters;
}

const isFilters = (found: unknown): found is FlagFilters =>
  isObject(found) && isObjects(found.groups);
