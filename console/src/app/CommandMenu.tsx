import { useQueries, useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { Command as Cmdk, defaultFilter } from "cmdk";
import { Dialog } from "radix-ui";
import { type KeyboardEvent, useState } from "react";
import { commandSources } from "@/app/commandSources";
import { useCanEdit, useProjectId } from "@/app/session";
import { useAppCommands } from "@/app/useAppCommands";
import type { Command } from "@/lib/commands";
import { useSettled } from "@/lib/hooks";
import { prefix } from "@/lib/prefix";
import { classes, FLOATING } from "@/ui/classes";
import { useFocusBack } from "@/ui/focus";
import { toastError } from "@/ui/Toast";
import { words } from "@/words/app";

const SETTLED_MS = 120;

interface CommandMenuProps {
  onClose: () => void;
  onNewProject: () => void;
}

/** The command menu, which finds everything by name and runs commands. */
export default function CommandMenu({ onClose, onNewProject }: CommandMenuProps) {
  const [text, setText] = useState("");
  const [marked, setMarked] = useState<string>();
  const giveFocusBack = useFocusBack();
  const { commands, isSearching } = useCommands(useSettled(text, SETTLED_MS), onNewProject);
  const groups = groupsOf(commands, text);
  const shown = groups.flatMap(([, entries]) => entries);
  const first = shown[0];
  // The best match stays marked as results arrive, until the user moves to another one.
  const current = shown.find((command) => nameOf(command) === marked) ?? first;
  const router = useRouter();
  const choose = async (command: Command) => {
    onClose();
    if (command.to !== undefined) router.history.push(prefix + command.to);
    try {
      await command.run?.();
    } catch (error) {
      toastError(error);
    }
  };
  // The list handles Enter itself, but only attaches its listeners a moment after it renders.
  const enter = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.nativeEvent.isComposing || current === undefined) return;
    event.preventDefault();
    void choose(current);
  };
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 bg-backdrop" />
        <Dialog.Content
          onCloseAutoFocus={giveFocusBack}
          aria-describedby={undefined}
          className={classes(
            FLOATING,
            "fixed inset-x-0 top-[12vh] mx-auto w-[calc(100vw-1.5rem)] max-w-xl overflow-hidden",
          )}
        >
          <Dialog.Title className="sr-only">{words.commandMenu}</Dialog.Title>
          <Cmdk
            label={words.commandMenu}
            loop
            shouldFilter={false}
            value={current ? nameOf(current) : ""}
            onValueChange={(name) => setMarked(first && name === nameOf(first) ? undefined : name)}
            onKeyDown={enter}
          >
            <Cmdk.Input
              value={text}
              onValueChange={(typed) => {
                setText(typed);
                setMarked(undefined);
              }}
              placeholder={words.commandPlaceholder}
              className="w-full border-line border-b bg-transparent px-4 py-3 outline-none"
            />
            {/* Outside the list, because a list may contain only options. */}
            <Cmdk.Empty className="px-3 py-6 text-center text-ink-3">
              {isSearching ? words.commandLoading : words.commandEmpty}
            </Cmdk.Empty>
            <Cmdk.List aria-busy={isSearching} className="max-h-[50vh] overflow-y-auto p-2">
              {groups.map(([group, entries]) => (
                <Cmdk.Group
                  key={group}
                  heading={group}
                  className="[&_[cmdk-group-heading]]:px-2.5 [&_[cmdk-group-heading]]:py-1 [&_[cmdk-group-heading]]:text-ink-3 [&_[cmdk-group-heading]]:text-sm"
                >
                  {entries.map((command) => (
                    <Entry
                      key={command.id}
                      command={command}
                      onChoose={() => void choose(command)}
                    />
                  ))}
                </Cmdk.Group>
              ))}
            </Cmdk.List>
          </Cmdk>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function Entry({ command, onChoose }: { command: Command; onChoose: () => void }) {
  const { icon: Icon, title, hint } = command;
  return (
    <Cmdk.Item
      value={nameOf(command)}
      onSelect={onChoose}
      className="flex cursor-pointer items-center gap-2.5 rounded-md px-2.5 py-1.5 data-[selected=true]:bg-sunken"
    >
      {Icon && <Icon aria-hidden className="size-4 shrink-0 text-ink-2" />}
      <bdi className="min-w-0 grow truncate">{title}</bdi>
      {hint && <bdi className="max-w-40 truncate text-ink-3 text-sm">{hint}</bdi>}
    </Cmdk.Item>
  );
}

function useCommands(
  text: string,
  onNewProject: () => void,
): { commands: Command[]; isSearching: boolean } {
  const projectId = useProjectId();
  const canEdit = useCanEdit();
  const ofApp = useAppCommands(onNewProject);
  const sources = useQuery({
    queryKey: ["command sources"],
    queryFn: commandSources,
    staleTime: Infinity,
  });
  const answers = useQueries({
    queries: (sources.data ?? []).map((source, at) => ({
      queryKey: ["commands", projectId, at, text],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        source(text, { projectId, canEdit, signal }),
      staleTime: 2_000,
    })),
  });
  const found = useKept(answers.map((answer) => answer.data));
  return {
    commands: [...found.flat(), ...ofApp],
    isSearching: sources.isPending || answers.some((answer) => answer.isFetching),
  };
}

type Found = readonly Command[];
const NOTHING: Found = [];

/** What each source found. Keeps the previous results until new ones arrive, so nothing vanishes
 * under a tap. */
function useKept(answers: readonly (Found | undefined)[]): readonly Found[] {
  const [kept, setKept] = useState<readonly Found[]>([]);
  const found = answers.map((answer, at) => answer ?? kept[at] ?? NOTHING);
  if (found.some((one, at) => one !== (kept[at] ?? NOTHING))) setKept(found);
  return found;
}

/** The text by which an entry is matched and identified. */
const nameOf = ({ title, id }: Command): string => `${title} ${id}`.trim();

/** The commands that match the input, grouped under headings, best matches first. */
function groupsOf(commands: readonly Command[], text: string): [string, Command[]][] {
  const groups = new Map<string, Command[]>();
  for (const command of ranked(commands, text)) {
    groups.set(command.group, [...(groups.get(command.group) ?? []), command]);
  }
  return [...groups];
}

function ranked(commands: readonly Command[], text: string): readonly Command[] {
  if (text === "") return commands;
  return commands
    .map((command) => ({
      command,
      rank: defaultFilter(nameOf(command), text, [...(command.keywords ?? [])]),
    }))
    .filter(({ rank }) => rank > 0)
    .toSorted((one, other) => other.rank - one.rank)
    .map(({ command }) => command);
}
