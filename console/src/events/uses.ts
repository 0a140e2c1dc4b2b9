/** Return whether a part of a cohort's criteria or of an insight's question refers to the event.
 *
 * field: the name of the field that holds the part
 */
export function names(part: unknown, event: string, field = ""): boolean {
  if (Array.isArray(part)) return part.some((entry) => names(entry, event, field));
  if (typeof part === "string") return isNamedBy(field, part, event);
  if (typeof part !== "object" || part === null) return false;
  const fields: Record<string, unknown> = { ...part };
  return (
    isBehaviour(fields, event) ||
    isSeries(fields, event, field) ||
    Object.entries(fields).some(([name, value]) => names(value, event, name))
  );
}

const isBehaviour = ({ type, key, seq_event: next }: Record<string, unknown>, event: string) =>
  type === "behavioral" && (key === event || next === event);

// The fields of questions, in the older form and in that of `query`.
const LISTS = ["events", "exclusions"];
const ENTITIES = ["target_entity", "returning_entity", "targetEntity", "returningEntity"];
const NODE_LISTS = ["series", "exclusions"];
const TEXTS = [
  "start_point",
  "end_point",
  "startPoint",
  "endPoint",
  "exclude_events",
  "excludeEvents",
  "funnel_correlation_event_names",
  "funnel_correlation_event_exclude_names",
  "funnelCorrelationEventNames",
  "funnelCorrelationExcludeEventNames",
];

function isSeries(part: Record<string, unknown>, event: string, field: string): boolean {
  const { type, id, event: ofNode } = part;
  if (NODE_LISTS.includes(field) && ofNode === event) return true;
  const isOfEvents = type === "events" || type === undefined;
  return id === event && isOfEvents && ([...LISTS, ...ENTITIES].includes(field) || "math" in part);
}

function isNamedBy(field: string, text: string, event: string): boolean {
  // SQL writes the name of an event in quotes.
  if (field === "query") return text.includes(`'${event}'`);
  return text === event && TEXTS.includes(field);
}
