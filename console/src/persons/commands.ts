import { User } from "lucide-react";
import { api, dataOf } from "@/lib/api";
import type { Command, CommandSource } from "@/lib/commands";
import { words } from "@/words/persons";

const LENGTH_MIN = 2;
const FOUND_MAX = 8;

/** Persons by a part of the name or the e-mail address, or a whole id. */
export const commands: CommandSource = async (text, { projectId, signal }) => {
  const search = text.trim();
  if (search.length < LENGTH_MIN) return [];
  const page = await dataOf(
    api.GET("/api/projects/{project_id}/persons/", {
      params: { path: { project_id: projectId }, query: { search, limit: FOUND_MAX } },
      signal,
    }),
  );
  return page.results.map(
    (person): Command => ({
      id: `person ${person.id}`,
      title: person.name || person.id,
      group: words.command.group,
      hint: person.distinct_ids.find((id) => id !== person.name) ?? "",
      icon: User,
      // The menu matches by text: all that the search looked at.
      keywords: [search, ...person.distinct_ids.slice(0, 20)],
      to: `/project/${projectId}/persons/${person.id}`,
    }),
  );
};
