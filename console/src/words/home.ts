import { counted, formatNumber } from "@/lib/format";

export const words = {
  title: "Home",
  connect: "Connect an app",
  onboarding: {
    title: "Send your first event",
    description:
      "Any PostHog SDK works with this server: it needs this project's key and this server's address.",
    sdks: "Ways to send events",
    sdk: {
      html: "HTML snippet",
      js: "JavaScript",
      python: "Python",
      node: "Node.js",
      curl: "curl",
      posthog: "I use PostHog now",
    },
    hints: {
      html: "Put it into the head of every page. The script comes from this server.",
      js: "Install posthog-js, and run this once where your application starts.",
      python: "Install posthog, and run this.",
      node: "Install posthog-node, and run this.",
      curl: "Run it in any terminal.",
      posthog:
        "Keep your SDK and your code. Only the address and the key change, wherever you set them:",
    },
    code: "the code",
    key: "the project key",
    keyLabel: "Project key",
    addressLabel: "Address",
    address: "the address",
    back: "To Home",
  },
  waiting: {
    title: "Waiting for the first event",
    anew: "Waiting for the next event",
    hint: "It appears here by itself, in less than a second.",
    lost: "The connection to the server is lost; it is tried again.",
    arrived: "It has arrived",
    of: (person: string, time: string) => `of ${person}, at ${time}`,
    toHome: "Go to Home",
    toLive: "Watch live events",
  },
  refused: {
    title: "Nothing yet?",
    hint: "What arrived with this project's key in the last day, and was not stored. This list renews itself.",
    none: "Nothing was refused that carried this project's key. Then it was never accepted:",
    causes: [
      "The server answers 401 to another key. It must be exactly the one above, which begins with phc_.",
      "The address must be the one above, without a path of your own after it.",
      "In a browser, look at the network panel: an ad blocker may stop the request.",
      "SDKs send in batches: on a server, call shutdown or flush before the program ends.",
    ],
    waits: (requests: number) =>
      `${counted(requests, "request has", "requests have")} arrived and will be stored in a moment.`,
    stored: (count: number) =>
      `${counted(count, "event was", "events were")} stored in the last day.`,
    more: "All of the ledger",
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
    title: "What fails",
    none: "Nothing fails.",
    deadLetters: (count: number) =>
      `${counted(count, "request", "requests")} could not be ingested`,
    rollback: (key: string) => `The flag ${key} was rolled back, and is off`,
    scheduledChange: (key: string) => `A scheduled change of the flag ${key} failed`,
    webhook: (url: string, count: number) =>
      `${counted(count, "delivery", "deliveries")} to ${url} failed in the last 7 days`,
    cohort: (name: string) => `The cohort ${name} could not be calculated`,
    unnamed: "without a name",
  },
  flags: {
    title: "Flags that changed",
    none: "No flag has changed yet.",
    all: "All flags",
  },
  work: {
    title: "Recent work",
    none: "Nothing was changed in this project yet.",
  },
  count: formatNumber,
} as const;
