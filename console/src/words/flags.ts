export const words = {
  title: "Feature flags",
  newTitle: "New feature flag",
  flagTitle: "Feature flag",
} as const;
