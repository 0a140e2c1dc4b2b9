import { counted } from "@/words/format";

export const words = {
  persons: "Persons behind this number",
  number: (name: string, value: string) => `${name}: ${value}`,
  found: "Persons",
  search: "Name, e-mail address or id",
  count: "Count",
  none: "No person is behind this number.",
  noMatch: "No person behind this number matches.",
  missing: (count: number) =>
    `${counted(count, "person has", "persons have")} no profile, and are not listed.`,
  save: "Save as cohort",
  saveHint: "A static cohort of all persons behind this number, whatever is searched for above.",
  name: "Name",
  csvName: "persons.csv",
} as const;
