import { ChartLine } from "lucide-react";
import { api, dataOf } from "@/lib/api";
import type { Command, CommandSource } from "@/lib/commands";
import { words as builderWords } from "@/words/insightsBuilder";
import { nameOfInsight, words } from "@/words/insightsSaved";
import { KINDS } from "./kinds";

const FOUND_MAX = 8;

/** Finds insights by name, and starts a new one of each kind. */
export const commands: CommandSource = async (text, { projectId, signal }) => {
  const search = text.trim();
  const create = KINDS.map(
    ({ name, label, icon }): Command => ({
      id: `new insight ${name}`,
      title: builderWords.newOf(label),
      group: words.command.group,
      icon,
      keywords: builderWords.alsoCalled[name],
      to: `/project/${projectId}/insights/new?kind=${name}`,
    }),
  );
  if (search === "") return create;
  const page = await dataOf(
    api.GET("/api/projects/{project_id}/insights/", {
      params: {
        path: { project_id: projectId },
        query: { search, limit: FOUND_MAX, basic: true },
      },
      signal,
    }),
  );
  const found = page.results.map(
    (insight): Command => ({
      id: `insight ${insight.id}`,
      title: nameOfInsight(insight),
      group: words.command.group,
      icon: ChartLine,
      to: `/project/${projectId}/insights/${insight.id}`,
    }),
  );
  return [...found, ...create];
};
