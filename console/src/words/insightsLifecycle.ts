export const words = {
  series: "Event",
  noSeries: "Choose an event to see who is new, comes back, or stays away.",
  statuses: {
    new: "New",
    returning: "Returning",
    resurrecting: "Resurrecting",
    dormant: "Dormant",
  },
  hints: {
    new: "first seen in this interval",
    returning: "active in the interval before, too",
    resurrecting: "seen before, but not active in the interval before",
    dormant: "active in the interval before, but not in this one",
  },
  shown: "Shown",
  hint: (name: string, text: string) => `${name}: ${text}`,
  at: (event: string, status: string, when: string) => `${event}, ${status.toLowerCase()}, ${when}`,
  caption: (what: string) => `Life cycle of persons who do ${what}`,
  captionOfGroups: (what: string) => `Life cycle of groups that do ${what}`,
  // Parts of the sentence.
  howMany: {
    persons: "how many persons who did",
    groups: (type: string) => `how many ${type} groups that did`,
  },
  were: (statuses: readonly string[]) =>
    `were ${[statuses.slice(0, -1).join(", "), ...statuses.slice(-1)].filter((one) => one !== "").join(" or ")}`,
} as const;
