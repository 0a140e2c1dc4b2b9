export const words = {
  title: "Live events",
} as const;
