import { counted } from "@/lib/format";

const people = (count: number) => counted(count, "person", "people");

export const words = {
  title: "Activity",
  hint: "Every change of this flag with its author. “Restore” takes the flag back to what it was after that change, by a new change.",
  empty: "Nothing has happened to this flag yet.",
  restoreTitle: "Restore this version",
  restoreOf: (when: string) =>
    `The flag as it was after the change of ${when}. This is saved as a new change, which can be taken back like any other.`,
  changes: "What changes",
  none: "The flag is as it was then: there is nothing to restore.",
  notRestored:
    "Deletion, roles, scheduled changes and what rollback did are not part of a version and stay as they are.",
  asJson: "As JSON",
  restore: "Restore",
  restored: (when: string) => `The version of ${when} is restored.`,
  conflict:
    "The flag was changed since this page read it. Close this, look at the newest change, and try again.",
  people: {
    none: "Nobody gets another value.",
    some: (changed: number, of: number) => `${people(changed)} of ${people(of)} get another value:`,
    estimated: (sample: number) => `Estimated from ${people(sample)}.`,
    unknown: "How many people get another value could not be counted.",
    line: (count: number, from: string, to: string) => `${people(count)} from ${from} to ${to}`,
  },
} as const;
