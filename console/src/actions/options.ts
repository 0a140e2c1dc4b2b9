import type { OptionSource } from "@/ui/combobox";
import { words } from "@/words/filters";
import { readActions } from "./queries";

export interface ActionChoice {
  id: number;
  name: string;
}

// No event can have these names, because names are trimmed.
export const actionOption = ({ id, name }: ActionChoice): string => ` ${id} ${name}`;

/** Return the action of an option, or null if the option is an event. */
export function actionIn(value: string): ActionChoice | null {
  const [, id, name] = /^ (\d+) (.*)$/s.exec(value) ?? [];
  return id === undefined || name === undefined ? null : { id: Number(id), name };
}

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
