import { counted, formatNumber } from "@/words/format";

export const words = {
  ask: "Ask about this",
  rowsRead: (rows: number, seconds: string) =>
    `${counted(rows, "row", "rows")} read in ${seconds} s`,
  took: (seconds: string) => `calculated in ${seconds} s`,
  values: (shown: number, total: number | null) =>
    total === null
      ? `${formatNumber(shown)} of many values`
      : `${formatNumber(shown)} of ${counted(total, "value", "values")}`,
  valuesOf: (name: string, values: string) => `${values} of ${name}`,
  valuesShown: (values: string) => `${values} shown`,
  persons: "Persons behind this number",
  groups: "Groups behind this number",
  number: (name: string, value: string) => `${name}: ${value}`,
  count: "Count",
  stepsReached: "Steps",
  missing: (count: number) =>
    `${counted(count, "person has", "persons have")} no profile, and are not listed.`,
  save: "Save as cohort",
  saveHint: "A static cohort of all persons behind this number, whatever is searched for above.",
  name: "Name",
  key: "Key",
  ofPersons: {
    found: "Persons",
    search: "Name, e-mail address or id",
    none: "No person is behind this number.",
    noMatch: "No person behind this number matches.",
    csvName: "persons.csv",
  },
  ofGroups: {
    found: "Groups",
    search: "Name or key",
    none: "No group is behind this number.",
    noMatch: "No group behind this number matches.",
    csvName: "groups.csv",
  },
} as const;
