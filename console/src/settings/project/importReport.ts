import type { components } from "@/lib/schema";

export type ImportReport = components["schemas"]["ImportReport"];
export type Counted = "created" | "updated" | "unchanged" | "skipped";

export const COUNTED: readonly Counted[] = ["created", "updated", "unchanged", "skipped"];

export const totalOf = ({ counts }: ImportReport, result: Counted): number =>
  counts.reduce((sum, of) => sum + of[result], 0);
