import { type Criterion, emptyLeaf, type Group, isGroup, type Leaf } from "./model";

export const replaced = (group: Group, place: number, next: Criterion): Group => ({
  ...group,
  values: group.values.map((one, other) => (other === place ? next : one)),
});

/** Without one of its parts, and without the groups that are empty then. */
export const removed = (group: Group, place: number): Group => ({
  ...group,
  values: group.values.filter((_, other) => other !== place),
});

export const withLeaf = (group: Group, leaf: Leaf): Group => ({
  ...group,
  values: [...group.values, leaf],
});

const fresh = (): Group => ({ type: "AND", values: [emptyLeaf("person")] });

/** With a further group in it. Conditions that it has itself become the first one, since groups and
 * conditions do not stand side by side. */
export function withGroup(group: Group): Group {
  if (group.values.every(isGroup)) return { ...group, values: [...group.values, fresh()] };
  const first: Group = { type: group.type, values: group.values };
  return { ...group, type: "OR", values: [first, fresh()] };
}
