import { api, dataOf } from "@/lib/api";
import type { components } from "@/lib/schema";
import { type ComboboxOption, matching } from "@/ui/combobox";
import { words } from "@/words/filters";
import { formatShare } from "@/words/format";
import { named, type PropertiesOf } from "./named";

// Loaded when a field asks for names.

const NAMES_MAX = 50;
const SAMPLE = 100;
const DEFINED_MAX = 10_000;

/** Names of properties of events, persons or groups that are not hidden. */
export async function readNames(
  projectId: string,
  of: PropertiesOf,
  search: string,
  signal: AbortSignal,
): Promise<readonly ComboboxOption[]> {
  if (of.kind === "event") return eventNames(projectId, search, of.event, signal);
  const [sample, defined] = await Promise.all([
    sampleOf(projectId, of, signal),
    definedOf(projectId, of, signal),
  ]);
  const names = namesIn(sample).filter(({ value }) => !defined.get(value)?.hidden);
  return matching(
    names.map((one) => ({ ...one, ...detailsOf(defined.get(one.value)) })),
    search,
  );
}

async function eventNames(
  projectId: string,
  search: string,
  event: string | undefined,
  signal: AbortSignal,
): Promise<ComboboxOption[]> {
  const query = {
    limit: NAMES_MAX,
    exclude_hidden: true,
    ...(search !== "" && { search }),
    ...(event !== undefined && { event_names: JSON.stringify([event]) }),
  };
  const found = await dataOf(
    api.GET("/api/projects/{project_id}/property_definitions/", {
      params: { path: { project_id: projectId }, query },
      signal,
    }),
  );
  return found.results.map((one) => ({
    ...named(one.name),
    ...(one.property_type !== null && { hint: words.types[one.property_type] }),
    ...detailsOf(one),
  }));
}

type Defined = components["schemas"]["PropertyDefinitionBody"];

/** What users say about a property, where names are chosen. */
function detailsOf(one: Defined | undefined): Partial<ComboboxOption> {
  if (one === undefined) return {};
  const text = one.verified ? [words.verified, one.description] : [one.description];
  const description = text.filter((part) => part !== "").join(" · ");
  return description === "" ? {} : { description };
}

/** The definitions of properties of persons or groups, by name. */
async function definedOf(
  projectId: string,
  { kind, groupTypeIndex = 0 }: PropertiesOf,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Defined>> {
  const ofGroups = { type: "group", group_type_index: groupTypeIndex };
  const query = { limit: DEFINED_MAX, ...(kind === "group" ? ofGroups : { type: "person" }) };
  const found = await dataOf(
    api.GET("/api/projects/{project_id}/property_definitions/", {
      params: { path: { project_id: projectId }, query },
      signal,
    }),
  );
  return new Map(found.results.map((one) => [one.name, one]));
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

/** Return the share of the sample that has the property, as text. */
function shareOf(count: number, all: number): string {
  return formatShare(Math.round((count / all) * 100));
}

export function readValues(
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
