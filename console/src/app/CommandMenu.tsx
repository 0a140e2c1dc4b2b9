import { useQueries, useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { Command as Cmdk } from "cmdk";
import { Dialog } from "radix-ui";
import { useState } from "react";
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
  const giveFocusBack = useFocusBack();
  const { commands, isSearching } = useCommands(useSettled(text, SETTLED_MS), onNewProject);
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
          <Cmdk label={words.commandMenu} loop>
            <Cmdk.Input
              value={text}
              onValueChange={setText}
              placeholder={words.commandPlaceholder}
              className="w-full border-line border-b bg-transparent px-4 py-3 outline-none"
            />
            {/* Outside the list, because a list may contain only options. */}
            <Cmdk.Empty className="px-3 py-6 text-center text-ink-3">
              {isSearching ? words.commandLoading : words.commandEmpty}
            </Cmdk.Empty>
            <Cmdk.List aria-busy={isSearching} className="max-h-[50vh] overflow-y-auto p-2">
              {groupsOf(commands).map(([group, entries]) => (
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
      value={`${title} ${command.id}`}
      keywords={[...(command.keywords ?? [])]}
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
      placeholderData: (before: readonly Command[] | undefined) => before,
      staleTime: 2_000,
    })),
  });
  return {
    commands: [...answers.flatMap((answer) => answer.data ?? []), ...ofApp],
    isSearching: sources.isPending || answers.some((answer) => answer.isFetching),
  };
}

function groupsOf(commands: readonly Command[]): [string, Command[]][] {
  const groups = new Map<string, Command[]>();
  for (const command of commands) {
    groups.set(command.group, [...(groups.get(command.group) ?? []), command]);
  }
  return [...groups];
}
