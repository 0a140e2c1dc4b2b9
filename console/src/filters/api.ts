import { api, dataOf } from "@/lib/api";
import type { components } from "@/lib/schema";
import { type ComboboxOption, matching, type OptionSource } from "@/ui/combobox";
import { plainName } from "@/ui/properties";
import { words } from "@/words/filters";
import { formatNumber, formatShare } from "@/words/format";
import type { FilterKind } from "./model";

export interface PropertiesOf {
  kind: FilterKind;
  groupTypeIndex?: number | undefined;
  /** Whose properties are meant, of conditions on events. */
  event?: string | undefined;
}

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
      const values = await readValues(projectId, { ...of, key, search }, signal);
      return values.map(({ name, count }) => ({ value: String(name), hint: formatNumber(count) }));
    },
  };
}

function readValues(
  projectId: string,
  { kind, key, search, event, groupTypeIndex }: PropertiesOf & { key: string; search: string },
  signal: AbortSignal,
): Promise<components["schemas"]["PropertyValue"][]> {
  const path = { project_id: projectId };
  const value = search === "" ? {} : { value: search };
  if (kind === "event") {
    const query = { key, ...value, ...(event !== undefined && { event_name: [event] }) };
    return dataOf(
      api.GET("/api/projects/{project_id}/events/values/", { params: { path, query }, signal }),
    );
  }
  if (kind === "group") {
    const query = { key, ...value, group_type_index: String(groupTypeIndex ?? 0) };
    return dataOf(
      api.GET("/api/projects/{project_id}/groups/property_values/", {
        params: { path, query },
        signal,
      }),
    );
  }
  return dataOf(
    api.GET("/api/projects/{project_id}/persons/values/", {
      params: { path, query: { key, ...value } },
      signal,
    }),
  );
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
const SAMPLE = 100;

/** Names of properties that were seen: of events all; of persons and groups those of a sample. */
export function nameOptions(
  projectId: string,
  of: PropertiesOf,
): OptionSource | readonly ComboboxOption[] {
  if (of.kind === "session") return SESSION_FIELDS.map(named);
  return {
    key: [projectId, "names", of],
    load: async (search, signal) => {
      if (of.kind === "event") return eventNames(projectId, search, of.event, signal);
      const sample = await sampleOf(projectId, of, signal);
      return matching(namesIn(sample), search);
    },
  };
}

async function eventNames(
  projectId: string,
  search: string,
  event: string | undefined,
  signal: AbortSignal,
): Promise<ComboboxOption[]> {
  const query = {
    limit: NAMES_MAX,
    ...(search !== "" && { search }),
    ...(event !== undefined && { event_names: JSON.stringify([event]) }),
  };
  const found = await dataOf(
    api.GET("/api/projects/{project_id}/property_definitions/", {
      params: { path: { project_id: projectId }, query },
      signal,
    }),
  );
  return found.results.map(({ name, property_type: type }) => ({
    ...named(name),
    ...(type !== null && { hint: words.types[type] }),
  }));
}

type Properties = Readonly<Record<string, unknown>>;

async function sampleOf(
  projectId: string,
  { kind, groupTypeIndex = 0 }: PropertiesOf,
  signal: AbortSignal,
): Promise<Properties[]> {
  const path = { project_id: projectId };
  if (kind === "group") {
    const query = { group_type_index: String(groupTypeIndex) };
    const found = await dataOf(
      api.GET("/api/projects/{project_id}/groups/", { params: { path, query }, signal }),
    );
    return found.results.map((one) => one.group_properties);
  }
  const found = await dataOf(
    api.GET("/api/projects/{project_id}/persons/", {
      params: { path, query: { limit: SAMPLE } },
      signal,
    }),
  );
  return found.results.map((one) => one.properties);
}

/** The most frequent first. */
function namesIn(sample: readonly Properties[]): ComboboxOption[] {
  const counts = new Map<string, number>();
  for (const properties of sample) {
    for (const name of Object.keys(properties)) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) => ({ ...named(name), hint: shareOf(count, sample.length) }));
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

/** Return the share of the sample that has the property, as text. */
function shareOf(count: number, all: number): string {
  return formatShare(Math.round((count / all) * 100));
}

function named(name: string): ComboboxOption {
  const plain = plainName(name);
  return plain === name ? { value: name } : { value: name, label: plain, description: name };
}
