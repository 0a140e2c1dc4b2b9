export const words = {
  title: "Home",
} as const;
