import { type Criterion, emptyLeaf, type Group, isGroup, type Leaf } from "./model";

export const replaced = (group: Group, place: number, next: Criterion): Group => ({
  ...group,
  values: group.values.map((one, other) => (other === place ? next : one)),
});

/** Return the tree without one of its parts and without groups that become empty. */
export const removed = (group: Group, place: number): Group => ({
  ...group,
  values: group.values.filter((_, other) => other !== place),
});

export const withLeaf = (group: Group, leaf: Leaf): Group => ({
  ...group,
  values: [...group.values, leaf],
});

const fresh = (): Group => ({ type: "AND", values: [emptyLeaf("person")] });

/** Return the tree with another group. Its own conditions become the first group, since groups and
 * conditions do not stand side by side. */
export function withGroup(group: Group): Group {
  if (group.values.every(isGroup)) return { ...group, values: [...group.values, fresh()] };
  const first: Group = { type: group.type, values: group.values };
  return { ...group, type: "OR", values: [first, fresh()] };
}
