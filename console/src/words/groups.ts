import { counted } from "@/lib/format";

export const words = {
  title: "Groups",
  groupTitle: "Group",
  description: "What persons act for together: companies, teams, projects.",
  types: "Group types",
  typeCount: (count: number) => counted(count, "group", "groups"),
  search: "Search for groups",
  searchPlaceholder: "Key, or part of a property",
  columns: { key: "Key", name: "Name", created: "First seen" },
  csvName: (type: string) => `${type}.csv`,
  emptyTitle: "No group yet",
  emptyHint:
    "A group type is made with the first event that names one; a project has five at most.",
  snippet: "the snippet",
  toHome: "All ways to send events",
  noMatch: "No group has this in its key or its properties.",
  noneOfType: "No group of this type has been seen.",
  firstSeen: "First seen",
  key: "the key",
  tabs: {
    label: "About this group",
    properties: "Properties",
    events: "Events",
    flags: "Flags now",
  },
  propertiesLabel: "Properties of the group",
  noProperties: "Nothing is known of it: $groupidentify says it.",
  flagsHint:
    "Flags of this group type, as an SDK would be answered at this moment; nothing is counted.",
  flagsEmpty: "No flag is of this group type.",
  events: {
    label: "Events of the group",
    event: "Event",
    person: "Person",
    time: "Time",
    empty: "No stored event names this group.",
    properties: "Properties of the event",
  },
} as const;
