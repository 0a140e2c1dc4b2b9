import { Plus, UsersRound } from "lucide-react";
import { api, dataOf } from "@/lib/api";
import type { Command, CommandSource } from "@/lib/commands";
import { words } from "@/words/cohorts";
import { formatNumber } from "@/words/format";

const FOUND_MAX = 8;

/** Cohorts by name, and a new one. */
export const commands: CommandSource = async (text, { projectId, canEdit, signal }) => {
  const search = text.trim();
  const create: Command = {
    id: "new cohort",
    title: words.create,
    group: words.command.group,
    icon: Plus,
    to: `/project/${projectId}/cohorts/new`,
  };
  const made = canEdit ? [create] : [];
  if (search === "") return made;
  const page = await dataOf(
    api.GET("/api/projects/{project_id}/cohorts/", {
      params: {
        path: { project_id: projectId },
        query: { search, limit: FOUND_MAX, basic: true },
      },
      signal,
    }),
  );
  const found = page.results.map(
    (cohort): Command => ({
      id: `cohort ${cohort.id}`,
      title: cohort.name || words.untitled,
      group: words.command.group,
      hint: cohort.count === null ? "" : words.command.persons(formatNumber(cohort.count)),
      icon: UsersRound,
      to: `/project/${projectId}/cohorts/${cohort.id}`,
    }),
  );
  return [...found, ...made];
};
