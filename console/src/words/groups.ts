export const words = {
  title: "Groups",
  groupTitle: "Group",
} as const;
