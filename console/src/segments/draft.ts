import { insightConditions, isComplete, type PropertyFilter, readFilter } from "@/filters";
import type { components } from "@/lib/schema";
import type { Segment } from "./queries";

export const KINDS = ["AND", "OR"] as const;
export type GroupKind = (typeof KINDS)[number];
type Group = components["schemas"]["InsightConditionGroup"];

export interface SegmentDraft {
  name: string;
  description: string;
  kind: GroupKind;
  filters: readonly PropertyFilter[];
  /** Groups within groups, which have no fields here and are kept as they are. */
  nested?: Group;
}

export const NEW_SEGMENT: SegmentDraft = { name: "", description: "", kind: "AND", filters: [] };

export function draftOf({ name, description = "", properties }: Segment): SegmentDraft {
  const values: unknown[] = Array.isArray(properties.values) ? properties.values : [];
  const filters = values.flatMap((one) => readFilter(one, "event") ?? []);
  const kind = String(properties.type).toUpperCase() === "OR" ? "OR" : "AND";
  const isFlat = filters.length === values.length && !values.some(isGroup);
  if (isFlat) return { name, description, kind, filters };
  return { name, description, kind, filters: [], nested: properties as unknown as Group };
}

const isGroup = (one: unknown): boolean =>
  typeof one === "object" && one !== null && "values" in one;

export const isCompleteDraft = ({ name, filters, nested }: SegmentDraft): boolean =>
  name.trim() !== "" && (nested !== undefined || filters.some(isComplete));

export const bodyOf = ({ name, description, kind, filters, nested }: SegmentDraft) => ({
  name: name.trim(),
  description: description.trim(),
  properties: nested ?? groupOf(kind, filters),
});

export const groupOf = (kind: GroupKind, filters: readonly PropertyFilter[]): Group => ({
  type: kind,
  values: insightConditions(filters.filter(isComplete)),
});
