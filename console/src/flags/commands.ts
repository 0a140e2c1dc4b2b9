import { CircleHelp, Flag, Plus, Power, PowerOff } from "lucide-react";
import { queryClient } from "@/app/queries";
import { api, dataOf } from "@/lib/api";
import type { Command, CommandContext, CommandSource } from "@/lib/commands";
import { words } from "@/words/flagList";
import { switchFlag } from "./changes";
import { type FlagList, flagListQuery } from "./listQueries";
import type { FlagBody } from "./model";
import { TRY_IT } from "./search";

const TEXTS = words.commands;
const FLAGS_MAX = 6;
// The words allowed around a flag's name: "switch off new-checkout", "why new-checkout".
const VERBS =
  /^(?:(?:switch|turn)(?:\s+(?:on|off))?|open|why(?:\s+did)?)(?:\s+|$)|\s+(?:on|off)$/gi;

/** Flags by key or name, each with what is done to it. */
export const commands: CommandSource = async (text, context) => {
  const sought = text.replaceAll(VERBS, "").trim();
  const flags = text.trim() === "" ? [] : await found(sought, context);
  return [...(context.canEdit ? [newFlag(context)] : []), ...flags.flatMap(commandsOf(context))];
};

function newFlag({ projectId }: CommandContext): Command {
  return {
    id: "flag new",
    title: TEXTS.newFlag,
    group: TEXTS.group,
    icon: Plus,
    to: `/project/${projectId}/flags/new`,
  };
}

const commandsOf =
  ({ projectId }: CommandContext) =>
  (flag: FlagBody): Command[] => {
    const { id, key, name, active } = flag;
    const of = { group: TEXTS.group, keywords: [name] };
    const page = `/project/${projectId}/flags/${id}`;
    const open: Command = {
      ...of,
      id: `flag open ${id}`,
      title: TEXTS.open(key),
      hint: name || (active ? TEXTS.on : TEXTS.off),
      icon: Flag,
      to: page,
    };
    const change: Command = {
      ...of,
      keywords: [name, active ? TEXTS.turnOff(key) : TEXTS.turnOn(key)],
      id: `flag ${key} ${active ? "off" : "on"}`,
      title: active ? TEXTS.switchOff(key) : TEXTS.switchOn(key),
      icon: active ? PowerOff : Power,
      run: () => switchFlag(projectId, flag, !active),
    };
    const why: Command = {
      ...of,
      id: `flag why ${id}`,
      title: TEXTS.why(key),
      icon: CircleHelp,
      to: `${page}#${TRY_IT}`,
    };
    return [open, ...(flag.can_edit ? [change] : []), why];
  };

/** Makes no request if all flags are loaded. Flags whose key begins with the text come first. */
async function found(sought: string, context: CommandContext): Promise<FlagBody[]> {
  const list = queryClient.getQueryData<FlagList>(flagListQuery(context.projectId).queryKey);
  const flags =
    list !== undefined && list.flags.length === list.total
      ? list.flags.filter((flag) => isNamed(flag, sought))
      : await searched(sought, context);
  const begins = (flag: FlagBody) => flag.key.toLowerCase().startsWith(sought.toLowerCase());
  return flags
    .toSorted((one, other) => Number(begins(other)) - Number(begins(one)))
    .slice(0, FLAGS_MAX);
}

/** Whether a flag has every word in its key or name: "dark mode" names `dark-mode`. */
const isNamed = ({ key, name }: FlagBody, sought: string): boolean =>
  wordsOf(sought).every((word) => `${key} ${name}`.toLowerCase().includes(word));

const wordsOf = (text: string): string[] =>
  text
    .toLowerCase()
    .split(/[\s_-]+/)
    .filter(Boolean);

async function searched(
  sought: string,
  { projectId, signal }: CommandContext,
): Promise<readonly FlagBody[]> {
  const [search = sought] = wordsOf(sought).toSorted((a, b) => b.length - a.length);
  const page = await dataOf(
    api.GET("/api/projects/{project_id}/feature_flags/", {
      params: {
        path: { project_id: projectId },
        query: { search, limit: FLAGS_MAX * 4, order: "key" },
      },
      signal,
    }),
  );
  return page.results.filter((flag) => isNamed(flag, sought));
}
