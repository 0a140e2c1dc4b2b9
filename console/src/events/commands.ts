import { Activity, Radio } from "lucide-react";
import { api, dataOf } from "@/lib/api";
import type { CommandSource } from "@/lib/commands";
import { words } from "@/words/events";

const FOUND_MAX = 6;

/** Events by name: to the event, and to its stream. */
export const commands: CommandSource = async (text, { projectId, signal }) => {
  if (text.trim() === "") return [];
  const page = await dataOf(
    api.GET("/api/projects/{project_id}/event_definitions/", {
      params: { path: { project_id: projectId }, query: { search: text, limit: FOUND_MAX } },
      signal,
    }),
  );
  return page.results.flatMap(({ id, name }) => [
    {
      id: `event ${id}`,
      title: name,
      group: words.commands.group,
      icon: Activity,
      to: `/project/${projectId}/events/${id}`,
    },
    {
      id: `event ${id} live`,
      title: words.commands.live(name),
      group: words.commands.group,
      icon: Radio,
      to: `/project/${projectId}/live?event=${encodeURIComponent(JSON.stringify(name))}`,
    },
  ]);
};
