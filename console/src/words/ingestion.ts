import { counted, formatNumber } from "@/words/format";

const items = (count: number): string => counted(count, "event", "events");

export const words = {
  title: "Ingestion",
  description: "What happened to every event that was accepted with status 200.",
  items,
  ledger: {
    title: "What arrived",
    caption: "Events",
    stored: "Stored",
    duplicates: "Duplicates",
    dropped: "Dropped",
    dead: "Failed requests",
    note: (end: string) => `By time of arrival, up to ${end}.`,
    empty: "Nothing was sent in this period",
    emptyHint: "Only events sent with this project's key are counted here.",
  },
  meanings: {
    stored: "It is in the event store, and every screen shows it.",
    duplicates: "An event with the same uuid was already stored: a client sent it twice.",
    dropped: "It was dropped for one of the reasons below.",
    dead: "It could not be ingested. Nothing is lost: you can send it again above.",
  },
  waiting: {
    title: "Waiting",
    none: "Nothing is waiting: everything accepted has been ingested.",
    some: (requests: number) =>
      `${counted(requests, "request is", "requests are")} waiting to be ingested, from all projects of this server`,
    since: (age: string) => `the oldest arrived ${age}`,
    unknown: "The server cannot say what is waiting because its accept log cannot be read.",
  },
  reasons: {
    title: "Why events were not stored",
    none: "Every event of this period was stored.",
    examples: "Newest examples",
    changes: "Stored, but not as sent",
    list: (reason: string) => `Examples: ${reason}`,
    event: "Event",
    noEvent: "no name",
    distinctId: "Distinct id",
    noDistinctId: "no distinct id",
    older: "Examples may be older than the period above.",
  },
  names: {
    duplicate: "Duplicate",
    dead_letter: "Failed request",
    discarded: "Discarded request",
    no_name: "No name",
    no_distinct_id: "No distinct id",
    diverted_event: "Event for another product",
    person_profile_needed: "Needs a person",
    user_agent: "User agent dropped by the project",
    erased: "Person was deleted",
    person_too_large: "Person too large",
    group_too_large: "Group too large",
    merge_left_out: "Properties left out of a merge",
    group_type_left_out: "Group type left out",
    time_unreadable: "Unreadable time",
    time_ahead: "Time in the future",
    sent_at_unreadable: "Unreadable time of sending",
  },
  find: {
    title: "Where is my event?",
    label: "The event's uuid, or the distinct id it was sent with",
    submit: "Find event",
    searching: "Searching stored, dropped, failed and waiting events…",
    stored: (event: string, person: string, time: string) =>
      `It is stored: “${event}” from ${person}, ${time}.`,
    storedOf: (count: number, hasMore: boolean) =>
      hasMore
        ? `More than ${formatNumber(count)} events with this distinct id are stored. The newest:`
        : `${counted(count, "event", "events")} with this distinct id ${count === 1 ? "is" : "are"} stored. The newest:`,
    notStored: "No stored event has this uuid or distinct id.",
    dropped: (event: string, time: string, meaning: string) =>
      `${event} from ${time} was not stored. ${meaning}`,
    changed: (event: string, time: string, meaning: string) => `${event} from ${time}: ${meaning}`,
    inLetter: (time: string, error: string) =>
      `A request from ${time} contains it and failed: ${error}`,
    toLetter: "Open the failed request",
    waits: (requests: number) =>
      `${counted(requests, "request is", "requests are")} waiting to be ingested and may contain it. This answer updates automatically.`,
    nowhere:
      "It left no trace here, so it was not accepted. Check what the server answered to the request.",
    causes: [
      "401: the key of the request is not this project's. Find the key in the project settings.",
      "400: the body could not be read. The response says where.",
      "429: the project exceeded its own limit of events per second.",
      "No response: the address is wrong, or something in the browser, such as an ad blocker, blocked the request.",
    ],
    limits:
      "Only the ten newest examples of each reason and the ten newest failed requests were searched.",
    anEvent: "An event",
    named: (event: string) => `“${event}”`,
  },
  letters: {
    title: "Failed requests",
    description: "Requests that were accepted but could not be ingested.",
    none: "No failed requests.",
    list: "Failed requests, newest first",
    shown: (shown: number, all: number) =>
      `Showing the newest ${formatNumber(shown)} of ${formatNumber(all)}.`,
    error: "Error",
    items: "Events",
    arrived: "Arrived",
    attempts: (count: number) => `Tried ${count === 1 ? "once" : `${formatNumber(count)} times`}`,
    lastTried: "last",
    retry: "Send again",
    retryAll: "Send all again",
    retrying: "Sending again…",
    open: "Show its events",
    close: "Hide its events",
    body: "What was sent",
    cut: "Only the first million characters are shown.",
    bodyName: "what was sent",
    size: (bytes: number) => `${formatNumber(bytes)} bytes`,
    remove: "Delete",
    removeTitle: "Delete this failed request?",
    removeHint: (count: number) =>
      `${items(count)} will be lost permanently and counted as discarded.`,
    removeWord: "delete",
    removed: "Failed request deleted",
    sent: (count: number) => `${counted(count, "failed request", "failed requests")} sent again`,
    stillFails: "It failed again.",
    notEditable: "Requests are sent again as they arrived. They cannot be edited.",
    viewer: "Viewers cannot send failed requests again or delete them.",
  },
} as const;
