import { toast } from "@/ui/Toast";
import { words } from "@/words/flagList";
import { changeTags, forEach, type Outcome, refresh, replaceFlag, setDeleted } from "../changes";
import type { FlagBody } from "../model";
import { changeFlag } from "../queries";

const TEXTS = words.bulk;

type ToastText = Parameters<typeof toast>[0];

/** An action on flags. It returns the text of the toast and how to undo it. */
export type BulkAct = (
  projectId: string,
  flags: readonly FlagBody[],
  onProgress?: (done: number) => void,
) => Promise<ToastText>;

/** Flags that are already in the state are left alone, and undo does not touch them either. */
export const switchAll =
  (active: boolean): BulkAct =>
  async (projectId, flags, onProgress) => {
    const others = flags.filter((flag) => flag.active !== active);
    const act = async (flag: FlagBody) => {
      replaceFlag(projectId, await changeFlag(projectId, flag.id, { active }));
      return flag;
    };
    const outcome = await forEach(others, act, onProgress);
    await refresh(projectId);
    const changed = outcome.done.map((flag) => ({ ...flag, active }));
    return described(outcome, TEXTS.switched(changed.length, active), async () =>
      toast(await switchAll(!active)(projectId, changed)),
    );
  };

export const deleteAll: BulkAct = async (projectId, flags, onProgress) => {
  const outcome = await setAllDeleted(projectId, flags, true, onProgress);
  return described(outcome, TEXTS.deleted(outcome.done.length), async () => {
    const restored = await setAllDeleted(projectId, outcome.done, false);
    toast(described(restored, TEXTS.restored(restored.done.length)));
  });
};

async function setAllDeleted(
  projectId: string,
  flags: readonly FlagBody[],
  deleted: boolean,
  onProgress?: (done: number) => void,
): Promise<Outcome<FlagBody>> {
  const act = async (flag: FlagBody) => {
    await setDeleted(projectId, flag.id, deleted);
    return flag;
  };
  const outcome = await forEach(flags, act, onProgress);
  await refresh(projectId);
  return outcome;
}

interface Tagged {
  id: number;
  /** Tags that this act has added, or removed. */
  moved: readonly string[];
}

export const tagAll =
  (tags: readonly string[], isAdding: boolean): BulkAct =>
  async (projectId, flags, onProgress) => {
    const outcome = await moveTags(
      projectId,
      flags.map(({ id }) => ({ id, moved: tags })),
      isAdding,
      onProgress,
    );
    return described(outcome, textOf(outcome, isAdding), async () => {
      const back = await moveTags(projectId, outcome.done, !isAdding);
      toast(described(back, textOf(back, !isAdding)));
    });
  };

async function moveTags(
  projectId: string,
  flags: readonly Tagged[],
  isAdding: boolean,
  onProgress?: (done: number) => void,
): Promise<Outcome<Tagged>> {
  const act = async ({ id, moved }: Tagged) => {
    const { before, after } = await changeTags(projectId, id, (own) => {
      const others = own.filter((tag) => !moved.includes(tag));
      return isAdding ? [...own, ...moved.filter((tag) => !own.includes(tag))] : others;
    });
    const [fewer, more] = isAdding ? [before, after] : [after, before];
    return { id, moved: more.filter((tag) => !fewer.includes(tag)) };
  };
  const { done, failures } = await forEach(flags, act, onProgress);
  await refresh(projectId);
  return { done: done.filter((one) => one.moved.length > 0), failures };
}

function textOf({ done }: Outcome<Tagged>, isAdding: boolean): string {
  return isAdding ? TEXTS.tagged(done.length) : TEXTS.untagged(done.length);
}

function described(outcome: Outcome<unknown>, text: string, undo?: () => unknown): ToastText {
  const { done, failures } = outcome;
  const [failure] = failures;
  if (failure === undefined && done.length === 0) return { text: TEXTS.nothing };
  const failed = failure === undefined ? "" : TEXTS.failed(failures.length, failure);
  const said = done.length === 0 ? "" : text;
  return {
    text: [said, failed].filter(Boolean).join(" "),
    isError: failure !== undefined,
    ...(undo !== undefined && done.length > 0 && { undo }),
  };
}
