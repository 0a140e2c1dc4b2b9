import { queryOptions, useQuery } from "@tanstack/react-query";
import {
  CalendarCheck,
  ChartColumnStacked,
  ChartLine,
  DatabaseZap,
  Filter,
  Grid3x3,
  Waypoints,
} from "lucide-react";
import type { KindName } from "@/insights/question/model";
import { loadPart } from "@/lib/parts";
import { words } from "@/words/insightsBuilder";
import type { KindEntry } from "./kind";

/** The kinds of the builder, in the order of their tabs. */
export const KINDS: readonly KindEntry[] = [
  {
    name: "trends",
    label: words.kinds.trends,
    icon: ChartLine,
    load: async () => (await import("./trends")).kind,
  },
  {
    name: "funnels",
    label: words.kinds.funnels,
    icon: Filter,
    load: async () => (await import("./funnels")).kind,
  },
  {
    name: "retention",
    label: words.kinds.retention,
    icon: Grid3x3,
    load: async () => (await import("./retention")).kind,
  },
  {
    name: "stickiness",
    label: words.kinds.stickiness,
    icon: CalendarCheck,
    load: async () => (await import("./stickiness")).kind,
  },
  {
    name: "lifecycle",
    label: words.kinds.lifecycle,
    icon: ChartColumnStacked,
    load: async () => (await import("./lifecycle")).kind,
  },
  {
    name: "paths",
    label: words.kinds.paths,
    icon: Waypoints,
    load: async () => (await import("./paths")).kind,
  },
];

/** SQL too, whose screen is another than the builder's. */
export const ALL_KINDS: readonly KindEntry[] = [
  ...KINDS,
  {
    name: "sql",
    label: words.kinds.sql,
    icon: DatabaseZap,
    load: async () => (await import("./sql")).kind,
  },
];

export const entryOf = (name: KindName): KindEntry | undefined =>
  ALL_KINDS.find((one) => one.name === name);

export const kindQuery = (name: KindName) =>
  queryOptions({
    queryKey: ["part", "insight kind", name],
    queryFn: () => {
      const entry = entryOf(name);
      if (entry === undefined) throw new Error(words.noKind(name));
      return loadPart(entry.load);
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
    retry: false,
  });

/** Load a kind and its chunk. */
export const useKind = (name: KindName) => useQuery(kindQuery(name));
