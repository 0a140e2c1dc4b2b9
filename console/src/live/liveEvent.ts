import type { components } from "@/lib/schema";

export type LiveEvent = components["schemas"]["EventBody"];

/** A sample: of `events` in the stream only `shown` were sent. */
export interface Sample {
  events: number;
  shown: number;
  perSecond: number;
}

/** Events that were not sent; null: the number is unknown. */
export interface Skipped {
  events: number | null;
  reason: string;
}

type Fields = Record<string, unknown>;

function fieldsOf(data: string): Fields | null {
  try {
    const value: unknown = JSON.parse(data);
    return isFields(value) ? value : null;
  } catch {
    return null;
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isEvent(value: Fields): value is Fields & LiveEvent {
  const texts = [value.id, value.event, value.distinct_id, value.timestamp];
  return texts.every((one) => typeof one === "string") && isFields(value.properties);
}

export function readEvent(data: string): LiveEvent | null {
  const fields = fieldsOf(data);
  return fields !== null && isEvent(fields) ? fields : null;
}

export function readSample(data: string): Sample | null {
  const { events, shown, per_second: perSecond } = fieldsOf(data) ?? {};
  if (typeof events !== "number" || typeof shown !== "number") return null;
  return { events, shown, perSecond: typeof perSecond === "number" ? perSecond : events };
}

export function readSkipped(data: string): Skipped | null {
  const fields = fieldsOf(data);
  if (fields === null || typeof fields.reason !== "string") return null;
  return {
    events: typeof fields.events === "number" ? fields.events : null,
    reason: fields.reason,
  };
}

const NAMES = ["email", "name", "username"];

/** Return the name of the person of an event: a known address or name, or the id. */
export function personName(event: LiveEvent): string {
  const known = event.person?.properties ?? {};
  const names = NAMES.map((name) => known[name]);
  const [found] = names.filter((one): one is string => typeof one === "string" && one !== "");
  return found ?? event.distinct_id;
}

const PLACES = ["$pathname", "$current_url", "$screen_name"];

/** Return the page or screen of the event, if its client sent one. */
export function placeOf(event: LiveEvent): string {
  const places = PLACES.map((name) => event.properties[name]);
  return places.find((one): one is string => typeof one === "string" && one !== "") ?? "";
}
