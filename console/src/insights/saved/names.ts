import { words } from "@/words/insightsSaved";
import type { Insight } from "./queries";

export const nameOfInsight = (insight: Pick<Insight, "name" | "derived_name">): string =>
  insight.name || insight.derived_name || words.untitled;

export const authorOf = ({ created_by: by }: Pick<Insight, "created_by">): string =>
  by?.first_name || by?.email || "";
