import { DESTINATIONS } from "@/app/navigation";
import type { Command, CommandSource } from "@/lib/commands";
import { words } from "@/words/app";

const goTo: CommandSource = (_, { projectId }) =>
  Promise.resolve(
    DESTINATIONS.map(
      ({ to, label, icon, keys }): Command => ({
        id: `go ${to}`,
        title: label,
        group: words.goTo,
        hint: keys,
        icon,
        to: to.replace("$projectId", projectId),
      }),
    ),
  );

/** Loaded when the menu is opened first. A feature's commands are added here. */
export async function commandSources(): Promise<readonly CommandSource[]> {
  const features = await Promise.all([
    import("@/flags/commands"),
    import("@/experiments/commands"),
    import("@/insights/commands"),
    import("@/dashboards/commands"),
    import("@/persons/commands"),
    import("@/cohorts/commands"),
    import("@/events/commands"),
    import("@/settings/commands"),
  ]);
  return [goTo, ...features.map((feature) => feature.commands)];
}
