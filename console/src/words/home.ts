import { counted, formatNumber } from "@/words/format";

export const words = {
  title: "Home",
  connect: "Connect an app",
  onboarding: {
    title: "Send your first event",
    description:
      "Any PostHog SDK works with this server. Give it this project's key and this server's address.",
    sdks: "Ways to send events",
    sdk: {
      html: "HTML snippet",
      js: "JavaScript",
      python: "Python",
      node: "Node.js",
      curl: "curl",
      posthog: "Moving from PostHog",
    },
    hints: {
      html: "Paste this into the head of every page. It captures page views; the script comes from this server.",
      js: "Install posthog-js and run this once when your application starts.",
      python: "Install posthog and run this.",
      node: "Install posthog-node and run this.",
      curl: "Run this in any terminal.",
      posthog:
        "Keep your SDK and your code. Change only the address and the key, wherever you set them:",
    },
    code: "the code",
    key: "the project key",
    keyLabel: "Project key",
    addressLabel: "Address",
    address: "the address",
    back: "Back to Home",
  },
  waiting: {
    title: "Waiting for the first event",
    again: "Waiting for the next event",
    hint: "It appears here automatically, in less than a second.",
    lost: "Connection to the server lost. Reconnecting…",
    arrived: "Your event has arrived",
    of: (person: string, time: string) => `from ${person}, at ${time}`,
    toHome: "Go to Home",
    toLive: "Watch live events",
  },
  refused: {
    title: "Nothing yet?",
    others: "Not stored",
    hint: "What arrived with this project's key in the last day but was not stored. This list updates automatically.",
    none: "Nothing with this project's key was rejected, so your event was never accepted. Check the following:",
    causes: [
      "The server answers 401 to any other key. Use exactly the key above, which begins with phc_.",
      "Use exactly the address above, without adding a path.",
      "In a browser, check the network panel: an ad blocker may block the request.",
      "SDKs send events in batches: on a server, call shutdown or flush before the program ends.",
    ],
    waits: (requests: number) =>
      `${counted(requests, "request has", "requests have")} arrived and will be stored in a moment.`,
    stored: (count: number) =>
      `${counted(count, "event was", "events were")} stored in the last day.`,
    more: "See everything that arrived",
  },
  today: {
    events: "Events today",
    persons: "Persons today",
    byHour: "Events",
    series: "Events",
    soFar: (zone: string) => `so far, since midnight (${zone})`,
    live: "Live events",
    all: "Persons",
    age: (time: string) => `As of ${time}`,
  },
  problems: {
    title: "Problems",
    none: "No problems.",
    lastEvent: "Last event:",
    silence: "No events for more than a day",
    deadLetters: (count: number) =>
      `${counted(count, "request", "requests")} could not be ingested`,
    alertFires: (name: string, value: number) =>
      `The alert ${name} is firing: ${formatNumber(value)}`,
    alertFailed: (name: string) => `The alert ${name} cannot be checked`,
    guardedRelease: (key: string) => `The guarded release of the flag ${key} needs attention`,
    rollback: (key: string) => `The flag ${key} was rolled back and is now off`,
    scheduledChange: (key: string) => `A scheduled change to the flag ${key} failed`,
    webhook: (url: string, count: number) =>
      `${counted(count, "delivery", "deliveries")} to ${url} failed in the last 7 days`,
    cohort: (name: string) => `The cohort ${name} could not be calculated`,
    batchExport: (name: string) => `The export ${name} cannot be written`,
    unnamed: "unnamed",
    backup: "The last backup of this server failed or is late",
    backupAdvice: "Run fanion doctor on the server to see why.",
  },
  flags: {
    title: "Recently changed flags",
    none: "No flags have changed yet.",
    all: "All flags",
  },
  work: {
    all: "All activity",
    title: "Recent activity",
    none: "Nothing has been changed in this project yet.",
  },
  count: formatNumber,
} as const;
