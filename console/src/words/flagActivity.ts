import { counted, formatNumber } from "@/words/format";

const people = (count: number) => counted(count, "person", "people");

export const words = {
  title: "Activity",
  hint: "Every change to this flag and who made it. “Restore” makes a new change that returns the flag to how it was then.",
  empty: "Nothing has happened to this flag yet.",
  restoreTitle: "Restore this version",
  restoreOf: (when: string) =>
    `The flag as it was after the change of ${when}. This is saved as a new change, which can be undone like any other.`,
  changes: "What changes",
  none: "The flag is already as it was then. There is nothing to restore.",
  notRestored:
    "Deletion, roles, scheduled changes and rollbacks are not part of a version and stay as they are.",
  asJson: "As JSON",
  restore: "Restore",
  restored: (when: string) => `Restored the version of ${when}`,
  conflict:
    "The flag has changed since you opened this page. Close this dialog, check the latest change and try again.",
  people: {
    none: "Nobody gets a different value.",
    some: (changed: number, of: number) =>
      `A different value for ${people(changed)} out of ${formatNumber(of)}:`,
    estimated: (sample: number) => `Estimated from ${people(sample)}.`,
    unknown: "Could not count how many people get a different value.",
    line: (count: number, from: string, to: string) => `${people(count)} from ${from} to ${to}`,
  },
} as const;
