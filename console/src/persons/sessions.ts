import type { components } from "@/lib/schema";

type EventBody = components["schemas"]["EventBody"];
export type TimelineEntry = components["schemas"]["TimelineEntry"];

export interface Session {
  /** null: entries that no session is known of */
  id: string | null;
  /** The newest first. */
  entries: TimelineEntry[];
}

/** Neighbours of one session belong together; the newest session first. */
export function sessionsOf(entries: readonly TimelineEntry[]): Session[] {
  const sessions: Session[] = [];
  for (const entry of entries) {
    const last = sessions.at(-1);
    // A cohort is entered by a calculation, in the middle of whatever happens.
    const id = entry.kind === "cohort" && last !== undefined ? last.id : entry.session_id;
    if (last !== undefined && last.id === id) last.entries.push(entry);
    else sessions.push({ id, entries: [entry] });
  }
  return sessions;
}

/** Return the duration from the first to the last entry. */
export function secondsOf({ entries }: Session): number {
  const [newest, oldest] = [entries[0], entries.at(-1)];
  if (newest === undefined || oldest === undefined) return 0;
  return (Date.parse(newest.timestamp) - Date.parse(oldest.timestamp)) / 1000;
}

/** An event of the list of events, as the timeline has it. */
export function entryOf(event: EventBody): TimelineEntry {
  const session = event.properties.$session_id;
  return {
    kind: "event",
    timestamp: event.timestamp,
    session_id: typeof session === "string" ? session : null,
    event: {
      id: event.id,
      name: event.event,
      distinct_id: event.distinct_id,
      flag: null,
      is_cut: false,
    },
    changes: null,
    changes_count: 0,
    cohort: null,
  };
}
