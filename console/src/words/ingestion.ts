import { counted, formatNumber } from "@/lib/format";

const items = (count: number): string => counted(count, "event", "events");

export const words = {
  title: "Ingestion",
  description: "What became of every event that was answered with 200.",
  items,
  ledger: {
    title: "Ledger",
    span: "Time",
    spans: {
      "1h": "Last hour",
      "24h": "Last 24 hours",
      "7d": "Last 7 days",
      "30d": "Last 30 days",
    },
    caption: "Events",
    stored: "Stored",
    duplicates: "Duplicates",
    dropped: "Dropped",
    dead: "Dead letters",
    note: (end: string, zone: string) => `By the time of arrival, up to ${end} (${zone}).`,
    empty: "Nothing was sent in this time",
    emptyHint: "Only what arrived with this project's key is counted here.",
  },
  meanings: {
    stored: "It is in the event store and every screen shows it.",
    duplicates: "An event with the same uuid was stored before; a client had sent it twice.",
    dropped: "It was not wanted, for one of the reasons below.",
    dead: "It could not be ingested. Nothing is lost: it can be sent again above.",
  },
  waiting: {
    title: "Waiting",
    none: "Nothing waits: everything that was accepted is ingested.",
    some: (requests: number) =>
      `${counted(requests, "request waits", "requests wait")} to be ingested, of all projects of this server`,
    since: (age: string) => `the oldest came ${age}`,
    unknown: "The server cannot say what waits: its accept log cannot be read.",
  },
  reasons: {
    title: "Why events were not stored",
    none: "Every event of this time was stored.",
    examples: "Newest examples",
    changes: "Stored, but not as it was sent",
    list: (reason: string) => `Examples: ${reason}`,
    event: "Event",
    noEvent: "no name",
    distinctId: "Distinct id",
    noDistinctId: "no distinct id",
    older: "Examples may be older than the time above.",
  },
  names: {
    duplicate: "Duplicate",
    dead_letter: "Dead letter",
    discarded: "Discarded dead letter",
    no_name: "No name",
    no_distinct_id: "No distinct id",
    diverted_event: "Event of another product",
    person_profile_needed: "Needs a person",
    user_agent: "User agent that the project drops",
    erased: "Person was deleted",
    person_too_large: "Person too large",
    group_too_large: "Group too large",
    merge_left_out: "Properties left out of a merge",
    group_type_left_out: "Group type left out",
    time_unreadable: "Time cannot be read",
    time_ahead: "Time lies ahead",
    sent_at_unreadable: "Time of sending cannot be read",
  },
  find: {
    title: "Where is my event?",
    label: "Its uuid, or the distinct id that it was sent with",
    submit: "Find it",
    searching: "Looking in the event store, the ledger, the dead letters and the log…",
    stored: (event: string, person: string, time: string) =>
      `It is stored: “${event}” of ${person}, ${time}.`,
    storedOf: (count: number, hasMore: boolean) =>
      hasMore
        ? `More than ${formatNumber(count)} events with this distinct id are stored. The newest:`
        : `${counted(count, "event", "events")} with this distinct id ${count === 1 ? "is" : "are"} stored. The newest:`,
    notStored: "No stored event has this uuid or this distinct id.",
    dropped: (event: string, time: string, meaning: string) =>
      `${event} of ${time} was not stored. ${meaning}`,
    changed: (event: string, time: string, meaning: string) => `${event} of ${time}: ${meaning}`,
    inLetter: (time: string, error: string) =>
      `A request of ${time} contains it and became a dead letter: ${error}`,
    toLetter: "Open the dead letter",
    waits: (requests: number) =>
      `${counted(requests, "request waits", "requests wait")} to be ingested; it may be in ${requests === 1 ? "it" : "one of them"}. This answer renews itself.`,
    nowhere:
      "It left no trace here. Then it was not accepted: look at what the server answered to the request.",
    causes: [
      "401: the key of the request is not this project's. It is on the project's settings.",
      "400: the body could not be read. The answer says where.",
      "429: the project's own limit of events per second was exceeded.",
      "No answer: the address is wrong, or something in the browser, such as an ad blocker, stopped it.",
    ],
    limits:
      "The ledger keeps the ten newest examples of each reason, and counts for 30 days; the ten newest dead letters were searched.",
    anEvent: "An event",
    named: (event: string) => `“${event}”`,
  },
  letters: {
    title: "Dead letters",
    description: "Requests that were accepted and could not be ingested.",
    none: "There are none.",
    list: "Dead letters, the newest first",
    shown: (shown: number, all: number) =>
      `The newest ${formatNumber(shown)} of ${formatNumber(all)} are listed.`,
    error: "Error",
    items: "Events",
    arrived: "Arrived",
    attempts: (count: number) => `Tried ${count === 1 ? "once" : `${formatNumber(count)} times`}`,
    lastTried: "last",
    retry: "Send again",
    retryAll: "Send all again",
    retrying: "Being sent again…",
    open: "Show its events",
    close: "Hide its events",
    body: "What was sent",
    cut: "Only the first million characters are shown.",
    bodyName: "what was sent",
    size: (bytes: number) => `${formatNumber(bytes)} bytes`,
    remove: "Delete",
    removeTitle: "Delete this dead letter?",
    removeHint: (count: number) =>
      `${items(count)} will be lost for good, and counted as discarded.`,
    removeWord: "delete",
    removed: "The dead letter was deleted",
    sent: (count: number) => `${counted(count, "dead letter is", "dead letters are")} sent again`,
    stillFails: "It failed again.",
    notEditable: "A request is sent again as it came; it cannot be edited.",
    viewer: "A viewer cannot send again or delete.",
  },
} as const;
