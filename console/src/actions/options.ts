import type { OptionSource } from "@/ui/combobox";
import { words } from "@/words/filters";
import { actionOption } from "./option";
import { readActions } from "./queries";

/** The events, and the actions of the project before them. */
export function withActions(source: OptionSource, projectId: string): OptionSource {
  return {
    key: [...source.key, "actions"],
    load: async (search, signal) => {
      const [actions, events] = await Promise.all([
        readActions(projectId, search, signal),
        source.load(search, signal),
      ]);
      const options = actions.results.map((one) => ({
        value: actionOption(one),
        label: one.name,
        description: words.anAction,
      }));
      return [...options, ...events];
    },
  };
}
