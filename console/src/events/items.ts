import type { EventItem } from "./columns";
import type { Definition, Volumes } from "./queries";
import type { EventsSearch } from "./search";

interface Marked {
  hidden: ReadonlySet<string>;
  verified: ReadonlySet<string>;
}

/** Definitions with what else is known of them. */
export function itemsOf(
  definitions: readonly Definition[],
  volumes: Volumes | undefined,
  marks: Marked | undefined,
): EventItem[] {
  const byName = new Map(volumes?.results.map((one) => [one.event, one]));
  // An event that is not among so many frequent ones may have any volume.
  const isWhole = volumes !== undefined && volumes.results.length < 1000;
  return definitions.map((definition) => {
    const volume = byName.get(definition.name);
    return {
      definition,
      total: volume?.total ?? (isWhole ? 0 : null),
      counts: volume?.counts ?? [],
      isHidden: marks?.hidden.has(definition.id) ?? false,
      isVerified: marks?.verified.has(definition.id) ?? false,
    };
  });
}

export function filtered(items: readonly EventItem[], search: EventsSearch): EventItem[] {
  const { q = "", kind = "all", mark = "all" } = search;
  const wanted = q.trim().toLowerCase();
  return items.filter(({ definition: { name, tags }, isHidden, isVerified }) => {
    const isSystem = name.startsWith("$");
    if (kind === "custom" ? isSystem : kind === "system" && !isSystem) return false;
    if (mark === "all" && isHidden) return false;
    if (mark === "hidden" && !isHidden) return false;
    if (mark === "verified" && !isVerified) return false;
    return [name, ...tags].some((text) => text.toLowerCase().includes(wanted));
  });
}
