import { ApiError } from "@/lib/errors";
import { EVENT_LISTS, type Fields, ROLES, sentEntries } from "./fields";

// The fields beside which their errors are shown.
const FIELDS = [
  ...["name", "description", "feature_flag_key", "holdout_id", "parameters"],
  ...["parameters__feature_flag_variants", "exposure_criteria__exposure_config__event"],
];
const OF_EVENT = /^(series__\d+|source|numerator|denominator|start_event|completion_event)/;
const OF_NODE = /^(__(event|math|math_property|math_group_type_index|properties))?$/;

/** Return whether the form shows an error beside the field that it names. */
export function isPlaced(error: unknown, fields: Fields): boolean {
  if (!(error instanceof ApiError) || error.attr === null) return false;
  const { attr } = error;
  if (FIELDS.includes(attr)) return true;
  return ROLES.some((role) => {
    const list = `${EVENT_LISTS[role]}__`;
    if (!attr.startsWith(list)) return false;
    const [place = "", ...rest] = attr.slice(list.length).split("__");
    const entry = sentEntries(fields.metrics[role])[Number(place)];
    return entry !== undefined && "metric" in entry && isShown(rest.join("__"));
  });
}

function isShown(place: string): boolean {
  if (place === "name" || place === "series") return true;
  const [event] = OF_EVENT.exec(place) ?? [];
  return event !== undefined && OF_NODE.test(place.slice(event.length));
}
