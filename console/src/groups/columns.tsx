import { PropertyValue, plainName, plainValue, Visible } from "@/ui/properties";
import { Time } from "@/ui/Time";
import type { Column } from "@/ui/table";
import { words } from "@/words/groups";
import type { Group } from "./queries";

const PROPERTIES_MAX = 60;
const NAME = "name";
/** By the id of a column, the field by which the server sorts. */
export const ORDERS: Readonly<Record<string, string>> = { key: "group_key", created: "created_at" };

const KEY: Column<Group> = {
  id: "key",
  header: words.columns.key,
  fixed: true,
  sortable: true,
  width: 220,
  cell: (group) => <Visible text={group.group_key} />,
  text: (group) => group.group_key,
};

const CREATED: Column<Group> = {
  id: "created",
  header: words.columns.created,
  sortable: true,
  width: 130,
  cell: (group) => <Time at={group.created_at} />,
  text: (group) => new Date(group.created_at),
};

/** The key, then the properties that these groups have, the most frequent first. */
export function columnsOf(groups: readonly Group[]): Column<Group>[] {
  const counts = new Map<string, number>();
  for (const group of groups) {
    for (const name of Object.keys(group.group_properties)) {
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  const names = [...counts].toSorted(([, a], [, b]) => b - a).slice(0, PROPERTIES_MAX);
  return [KEY, ...names.map(([name]) => propertyColumn(name)), CREATED];
}

function propertyColumn(name: string): Column<Group> {
  return {
    id: `property ${name}`,
    header: plainName(name),
    ...(name === NAME ? { width: 240 } : { grow: true, width: 120 }),
    cell: ({ group_properties: properties }) =>
      properties[name] === undefined ? null : <PropertyValue value={properties[name]} />,
    text: ({ group_properties: properties }) =>
      properties[name] === undefined ? null : plainValue(properties[name]),
  };
}
