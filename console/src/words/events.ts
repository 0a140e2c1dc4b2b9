export const words = {
  title: "Events",
  eventTitle: "Event",
  propertiesTitle: "Properties",
} as const;
