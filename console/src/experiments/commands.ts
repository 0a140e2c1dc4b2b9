import { FlaskConical, Plus } from "lucide-react";
import type { Command, CommandSource } from "@/lib/commands";
import { words } from "@/words/experiments";
import { readExperiments } from "./queries";

const FOUND_MAX = 8;

/** Experiments by name, and a new one. */
export const commands: CommandSource = async (text, { projectId, canEdit, signal }) => {
  const search = text.trim();
  const create: Command = {
    id: "new experiment",
    title: words.create,
    group: words.command.group,
    icon: Plus,
    keywords: words.command.alsoCalled,
    to: `/project/${projectId}/experiments/new`,
  };
  const made = canEdit ? [create] : [];
  if (search === "") return made;
  const page = await readExperiments(projectId, { q: search }, null, FOUND_MAX, signal);
  const found = page.results.map(
    (experiment): Command => ({
      id: `experiment ${experiment.id}`,
      title: experiment.name,
      group: words.command.group,
      hint: words.states[experiment.status],
      icon: FlaskConical,
      to: `/project/${projectId}/experiments/${experiment.id}`,
    }),
  );
  return [...found, ...made];
};
