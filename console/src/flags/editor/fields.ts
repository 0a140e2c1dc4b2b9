import { type Flag, isObject, isSame, type JsonObject } from "../model";
import { type FlagChanges, filtersToSend } from "../requests";

/** The fields of a flag that are edited and saved together, named as in the API. */
export interface Fields {
  key: string;
  filters: JsonObject;
  ensure_experience_continuity: boolean;
  bucketing_identifier: "distinct_id" | "device_id";
  evaluation_runtime: "all" | "client" | "server";
  evaluation_contexts: readonly string[];
}

export function fieldsOf(flag: Flag): Fields {
  return {
    key: flag.key,
    filters: flag.filters,
    ensure_experience_continuity: flag.ensure_experience_continuity ?? false,
    bucketing_identifier: flag.bucketing_identifier ?? "distinct_id",
    evaluation_runtime: flag.evaluation_runtime ?? "all",
    evaluation_contexts: flag.evaluation_contexts ?? [],
  };
}

export const newFields = (filters: JsonObject): Fields => ({
  key: "",
  filters,
  ensure_experience_continuity: false,
  bucketing_identifier: "distinct_id",
  evaluation_runtime: "all",
  evaluation_contexts: [],
});

/** Return only the fields that differ, as a request accepts them. */
export function changesOf(base: Fields, fields: Fields): FlagChanges {
  const has = (name: keyof Fields) => !isSame(base[name], fields[name]);
  return {
    ...(has("key") && { key: fields.key }),
    ...(has("filters") && { filters: filtersToSend(fields.filters) }),
    ...(has("ensure_experience_continuity") && {
      ensure_experience_continuity: fields.ensure_experience_continuity,
    }),
    ...(has("bucketing_identifier") && { bucketing_identifier: fields.bucketing_identifier }),
    ...(has("evaluation_runtime") && { evaluation_runtime: fields.evaluation_runtime }),
    ...(has("evaluation_contexts") && { evaluation_contexts: [...fields.evaluation_contexts] }),
  };
}

/** Return whether a value from the browser's storage has the form of fields. */
export function isFields(found: unknown): found is Fields {
  if (!isObject(found)) return false;
  const { bucketing_identifier: bucketing, evaluation_runtime: runtime } = found;
  const contexts = found.evaluation_contexts;
  return (
    typeof found.key === "string" &&
    isObject(found.filters) &&
    typeof found.ensure_experience_continuity === "boolean" &&
    (bucketing === "distinct_id" || bucketing === "device_id") &&
    (runtime === "all" || runtime === "client" || runtime === "server") &&
    Array.isArray(contexts) &&
    contexts.every((one) => typeof one === "string")
  );
}

const CHARS_MAX = 60;

/** A key for a name: "New check-out (beta)" as new-check-out-beta. */
export function suggestedKey(name: string): string {
  const plain = name.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase();
  const key = plain.replaceAll(/[^a-z0-9_]+/g, "-").slice(0, CHARS_MAX);
  return key.replaceAll(/^-+|-+$/g, "");
}
