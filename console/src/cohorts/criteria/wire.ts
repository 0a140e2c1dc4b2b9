import type { components } from "@/lib/schema";
import { type Group, isGroup, type Leaf } from "./model";

type Schemas = components["schemas"];

/** Return criteria as the API accepts them. It rejects others and names the place. */
export function wireFilters(group: Group): Schemas["CohortFilters"] {
  return { properties: wireGroup(group) };
}

function wireGroup(group: Group): Schemas["CohortGroup"] {
  const groups = group.values.filter(isGroup);
  const leaves = group.values.filter((one): one is Leaf => !isGroup(one));
  return groups.length > 0
    ? { ...group, values: groups.map(wireGroup) }
    : { ...group, values: leaves.map(wireLeaf) };
}

// The schema has a type for each kind of condition; these were read from or made for one of them.
const wireLeaf = (leaf: Leaf): Schemas["CohortCondition"] =>
  ({ ...leaf }) as Schemas["CohortCondition"];
