import { LayoutDashboard } from "lucide-react";
import { queryClient } from "@/app/queries";
import { dashboardsQuery, isGenerated } from "@/insights";
import type { Command, CommandSource } from "@/lib/commands";
import { words } from "@/words/dashboards";

const FOUND_MAX = 8;

/** Finds dashboards by name. */
export const commands: CommandSource = async (text, { projectId }) => {
  const search = text.trim().toLowerCase();
  if (search === "") return [];
  const listed = await queryClient.fetchQuery(dashboardsQuery(projectId));
  return listed
    .filter((one) => !isGenerated(one) && one.name.toLowerCase().includes(search))
    .slice(0, FOUND_MAX)
    .map(
      ({ id, name }): Command => ({
        id: `dashboard ${id}`,
        title: name || words.untitled,
        group: words.command.group,
        icon: LayoutDashboard,
        to: `/project/${projectId}/dashboards/${id}`,
      }),
    );
};
