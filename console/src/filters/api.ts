import { api, dataOf } from "@/lib/api";
import type { ComboboxOption, OptionSource } from "@/ui/combobox";
import { formatNumber } from "@/words/format";
import { named, type PropertiesOf } from "./named";

/** Values of a property that were seen, with their counts. */
export function valueOptions(
  projectId: string,
  key: string,
  of: PropertiesOf,
): OptionSource | readonly ComboboxOption[] {
  // The server does not list values of session properties, nor of elements.
  if (of.kind === "session" || of.kind === "element") return [];
  return {
    key: [projectId, "values", key, of],
    load: async (search, signal) => {
      const { readValues } = await import("./propertyNames");
      const values = await readValues(projectId, { ...of, key, search }, signal);
      return values.map(({ name, count }) => ({ value: String(name), hint: formatNumber(count) }));
    },
  };
}

/** source: the server's fanion/insights/sessions/fields.py */
const SESSION_FIELDS = [
  ...["$session_duration", "$channel_type", "$is_bounce", "$pageview_count", "$screen_count"],
  ...["$autocapture_count", "$entry_pathname", "$entry_current_url", "$entry_hostname"],
  ...["$exit_pathname", "$exit_current_url", "$exit_hostname", "$entry_referring_domain"],
  ...["$entry_referrer", "$entry_utm_source", "$entry_utm_medium", "$entry_utm_campaign"],
  ...["$entry_utm_term", "$entry_utm_content", "$start_timestamp", "$end_timestamp"],
];

const NAMES_MAX = 50;

/** Names of properties that were seen: of events all; of persons and groups those of a sample. */
export function nameOptions(
  projectId: string,
  of: PropertiesOf,
): OptionSource | readonly ComboboxOption[] {
  if (of.kind === "session") return SESSION_FIELDS.map(named);
  return {
    key: [projectId, "names", of],
    load: async (search, signal) => {
      const { readNames } = await import("./propertyNames");
      return readNames(projectId, of, search, signal);
    },
  };
}

/** Cohorts by name, with the number of their members. */
export function cohortOptions(projectId: string): OptionSource {
  return {
    key: [projectId, "cohorts"],
    load: async (search, signal) => {
      const query = { limit: NAMES_MAX, basic: true, ...(search !== "" && { search }) };
      const found = await dataOf(
        api.GET("/api/projects/{project_id}/cohorts/", {
          params: { path: { project_id: projectId }, query },
          signal,
        }),
      );
      return found.results.map(({ id, name, count }) => ({
        value: String(id),
        label: name ?? String(id),
        ...(count !== null && { hint: formatNumber(count) }),
      }));
    },
  };
}

/** Segments by name. */
export function segmentOptions(projectId: string): OptionSource {
  return {
    key: [projectId, "segments"],
    load: async (search, signal) => {
      const query = { limit: NAMES_MAX, ...(search !== "" && { search }) };
      const found = await dataOf(
        api.GET("/api/projects/{project_id}/segments/", {
          params: { path: { project_id: projectId }, query },
          signal,
        }),
      );
      return found.results.map(({ id, name, description }) => ({
        value: String(id),
        label: name,
        ...(description && { description }),
      }));
    },
  };
}

/** Flags by key, for conditions on another flag. */
export function flagOptions(projectId: string): OptionSource {
  return {
    key: [projectId, "flags"],
    load: async (search, signal) => {
      const query = { limit: NAMES_MAX, ...(search !== "" && { search }) };
      const found = await dataOf(
        api.GET("/api/projects/{project_id}/feature_flags/", {
          params: { path: { project_id: projectId }, query },
          signal,
        }),
      );
      return found.results.map(({ key, name }) => ({
        value: key,
        ...(name !== "" && { description: name }),
      }));
    },
  };
}
