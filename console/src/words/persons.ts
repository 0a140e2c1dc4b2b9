export const words = {
  title: "Persons",
  personTitle: "Person",
} as const;
