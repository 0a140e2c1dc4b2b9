export const words = {
  title: "Ingestion",
} as const;
