import type { components } from "@/lib/schema";
import { type ComboboxOption, matching, type OptionSource } from "@/ui/Combobox";
import { plainName } from "@/ui/properties";
import { digits } from "@/words/plural";
import type { FilterKind } from "./model";
import { projectInAddress } from "./project";

type Schemas = components["schemas"];
export type Query = Readonly<Record<string, string | number | undefined>>;

async function read<T>(path: string, query: Query, signal: AbortSignal): Promise<T> {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  const prefix =
    document.querySelector('meta[name="fanion-prefix"]')?.getAttribute("content") ?? "";
  const answer = await fetch(`${prefix}/api/projects/${projectInAddress()}/${path}?${search}`, {
    headers: { "X-Fanion-Console": "1" },
    signal,
  });
  if (!answer.ok) throw new Error(answer.statusText);
  return answer.json();
}

export interface ValuesOf {
  kind: FilterKind;
  key: string;
  groupTypeIndex?: number | undefined;
  event?: string | undefined;
}

/** Values of a property that were seen, with their counts. */
export function valueOptions(of: ValuesOf): OptionSource {
  return {
    key: ["values", projectInAddress(), of],
    load: async (search, signal) => {
      const values = await read<Schemas["PropertyValue"][]>(
        pathOfValues(of.kind),
        {
          key: of.key,
          value: search || undefined,
          event_name: of.kind === "event" ? of.event : undefined,
          group_type_index: of.kind === "group" ? (of.groupTypeIndex ?? 0) : undefined,
        },
        signal,
      );
      return values.map(({ name, count }) => ({ value: String(name), hint: digits(count) }));
    },
  };
}

function pathOfValues(kind: FilterKind): string {
  if (kind === "event") return "events/values/";
  return kind === "group" ? "groups/property_values/" : "persons/values/";
}

const NAMES_MAX = 50;
const SAMPLE = 100;

/** Names of properties that were seen: of events all; of persons and groups those of a sample. */
export function nameOptions(of: Omit<ValuesOf, "key">): OptionSource {
  return {
    key: ["names", projectInAddress(), of],
    load: (search, signal) =>
      of.kind === "event" ? eventNames(search, of.event, signal) : sampledNames(of, search, signal),
  };
}

async function eventNames(search: string, event: string | undefined, signal: AbortSignal) {
  const found = await read<Schemas["PagedPropertyDefinitionBody"]>(
    "property_definitions/",
    {
      search: search || undefined,
      limit: NAMES_MAX,
      event_names: event === undefined ? undefined : JSON.stringify([event]),
    },
    signal,
  );
  return found.results.map(({ name }) => named(name));
}

interface Sampled {
  results: { properties?: Record<string, unknown>; group_properties?: Record<string, unknown> }[];
}

async function sampledNames(
  { kind, groupTypeIndex }: Omit<ValuesOf, "key">,
  search: string,
  signal: AbortSignal,
): Promise<ComboboxOption[]> {
  const isGroup = kind === "group";
  const sample = await read<Sampled>(
    isGroup ? "groups/" : "persons/",
    { limit: SAMPLE, group_type_index: isGroup ? (groupTypeIndex ?? 0) : undefined },
    signal,
  );
  const counts = new Map<string, number>();
  for (const one of sample.results) {
    const names = Object.keys((isGroup ? one.group_properties : one.properties) ?? {});
    for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const options = [...counts].sort(([, a], [, b]) => b - a).map(([name]) => named(name));
  return [...matching(options, search)];
}

const COHORTS_MAX = 50;

/** Cohorts by name, with the number of their members. */
export function cohortOptions(): OptionSource {
  return {
    key: ["cohorts", projectInAddress()],
    load: async (search, signal) => {
      const found = await read<Schemas["PagedCohortBody"]>(
        "cohorts/",
        { search: search || undefined, limit: COHORTS_MAX, basic: "true" },
        signal,
      );
      return found.results.map(({ id, name, count }) => ({
        value: String(id),
        label: name ?? String(id),
        ...(count !== null && { hint: digits(count) }),
      }));
    },
  };
}

/** Flags by key, for conditions on another flag. */
export function flagOptions(): OptionSource {
  return {
    key: ["flags", projectInAddress()],
    load: async (search, signal) => {
      const found = await read<{ results: { key: string; name: string }[] }>(
        "feature_flags/",
        { search: search || undefined, limit: NAMES_MAX },
        signal,
      );
      return found.results.map(({ key, name }) => ({
        value: key,
        ...(name !== "" && { description: name }),
      }));
    },
  };
}

function named(name: string): ComboboxOption {
  const plain = plainName(name);
  return plain === name ? { value: name } : { value: name, label: plain, description: name };
}
