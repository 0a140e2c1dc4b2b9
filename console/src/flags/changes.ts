import { queryClient } from "@/app/queries";
import { ApiError } from "@/lib/errors";
import { toast } from "@/ui/Toast";
import { words } from "@/words/flagList";
import { type FlagList, flagListQuery } from "./listQueries";
import type { Flag, FlagBody } from "./model";
import { changeFlag, flagKeys, flagQuery, isConflict } from "./queries";

/** Switches a flag; what is shown changes at once. The server takes it whatever the version is. */
export async function switchFlag(
  projectId: string,
  flag: Pick<FlagBody, "id" | "key">,
  active: boolean,
): Promise<void> {
  show(projectId, flag.id, { active });
  try {
    replaceFlag(projectId, await changeFlag(projectId, flag.id, { active }));
  } catch (error) {
    show(projectId, flag.id, { active: !active });
    throw error;
  }
  await refresh(projectId);
  toast({
    text: words.switched(flag.key, active),
    undo: () => switchFlag(projectId, flag, !active),
  });
}

const CONFLICTS_MAX = 5;

/** Changes tags as they are now: none that others add or remove meanwhile is lost.
 *
 * returns: the tags before and after
 */
export async function changeTags(
  projectId: string,
  flagId: number,
  change: (tags: readonly string[]) => readonly string[],
): Promise<{ before: readonly string[]; after: readonly string[] }> {
  for (let attempt = 1; ; attempt += 1) {
    const read = await queryClient.fetchQuery({ ...flagQuery(projectId, flagId), staleTime: 0 });
    const after = change(read.tags);
    if (isSameTags(read.tags, after)) return { before: read.tags, after: read.tags };
    try {
      const changes = { tags: [...after], version: read.version };
      const saved = await changeFlag(projectId, flagId, changes);
      replaceFlag(projectId, saved);
      return { before: read.tags, after: saved.tags };
    } catch (error) {
      if (!isConflict(error) || attempt === CONFLICTS_MAX) throw error;
    }
  }
}

/** Deleted ones leave the list; restored ones come back to their place. */
export async function setDeleted(
  projectId: string,
  flagId: number,
  deleted: boolean,
): Promise<void> {
  replaceFlag(projectId, await changeFlag(projectId, flagId, { deleted }));
}

export interface Outcome<T> {
  done: T[];
  failures: string[];
}

const AT_ONCE = 6;

/** Changes many flags, a few at a time. A failure does not stop the others. */
export async function forEach<Item, T>(
  items: readonly Item[],
  act: (item: Item) => Promise<T>,
  onProgress: (done: number) => void = () => undefined,
): Promise<Outcome<T>> {
  const outcome: Outcome<T> = { done: [], failures: [] };
  const waiting = [...items];
  const work = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
      try {
        outcome.done.push(await act(item));
      } catch (error) {
        outcome.failures.push(error instanceof ApiError ? error.detail : String(error));
      }
      onProgress(outcome.done.length + outcome.failures.length);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return outcome;
}

/** Changes only the list, until the server has confirmed. */
function show(projectId: string, flagId: number, changes: Partial<FlagBody>): void {
  setFlags(projectId, (flags) =>
    flags.map((flag) => (flag.id === flagId ? { ...flag, ...changes } : flag)),
  );
}

export function replaceFlag(projectId: string, saved: Flag): void {
  queryClient.setQueryData(flagKeys.one(projectId, saved.id), saved);
  setFlags(projectId, (flags) => {
    const others = flags.filter((flag) => flag.id !== saved.id);
    if (saved.deleted) return others;
    if (others.length < flags.length) {
      return flags.map((flag) => (flag.id === saved.id ? saved : flag));
    }
    return [...others, saved].toSorted(newestFirst);
  });
}

function newestFirst(one: FlagBody, other: FlagBody): number {
  return other.created_at.localeCompare(one.created_at) || other.id - one.id;
}

function setFlags(
  projectId: string,
  change: (flags: readonly FlagBody[]) => readonly FlagBody[],
): void {
  queryClient.setQueryData<FlagList>(flagKeys.list(projectId), (list) => {
    if (list === undefined) return undefined;
    const flags = change(list.flags);
    return { flags, total: list.total + flags.length - list.flags.length };
  });
}

/** Everything about flags but what was just put there. A list that was being read while a flag
 * changed may hold it as it was, and is read again.
 *
 * all: also the flags and the list themselves
 */
export async function refresh(projectId: string, all = false): Promise<void> {
  const isReading =
    queryClient.getQueryState(flagListQuery(projectId).queryKey)?.fetchStatus === "fetching";
  await queryClient.invalidateQueries({
    queryKey: flagKeys.all(projectId),
    predicate: ({ queryKey: [, , what] }) =>
      all || (what !== "one" && (what !== "list" || isReading)),
  });
}

function isSameTags(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((tag) => other.includes(tag));
}
