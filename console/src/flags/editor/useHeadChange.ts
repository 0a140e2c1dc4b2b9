import { useMutation, useQueryClient } from "@tanstack/react-query";
import { toast, toastError } from "@/ui/Toast";
import { type Flag, isSame } from "../model";
import { changeFlag, type FlagChanges, flagKeys, flagQuery, isConflict } from "../queries";

type HeadFields = "active" | "name" | "tags" | "deleted";
type HeadChange = Partial<Pick<Flag, HeadFields>>;

interface Asked {
  change: HeadChange;
  /** What is said when it is done, with a way back. */
  said: string;
}

/** Changes that are saved at once, and shown before the server agrees. A flag that has moved
 * meanwhile is changed all the same where it moved elsewhere.
 */
export function useHeadChange(projectId: string, flag: Flag) {
  const queries = useQueryClient();
  const key = flagKeys.one(projectId, flag.id);
  const show = (next: Flag) => queries.setQueryData(key, next);

  const change = async (from: Flag, wanted: HeadChange): Promise<Flag> => {
    try {
      return await changeFlag(projectId, from.id, withVersion(wanted, from.version));
    } catch (error) {
      if (!isConflict(error)) throw error;
      const now = await queries.fetchQuery({ ...flagQuery(projectId, from.id), staleTime: 0 });
      if (!isSame(partOf(now, wanted), partOf(from, wanted))) throw error;
      return changeFlag(projectId, from.id, withVersion(wanted, now.version));
    }
  };
  const settle = async (next: Flag) => {
    show(next);
    await queries.invalidateQueries({
      queryKey: flagKeys.all(projectId),
      predicate: (query) => query.queryKey[2] !== "one",
    });
  };
  return useMutation({
    mutationFn: ({ change: wanted }: Asked) => change(flag, wanted),
    onMutate: ({ change: wanted }) => {
      show({ ...flag, ...wanted });
      return { before: flag };
    },
    onError: (error, _, context) => {
      if (context !== undefined) show(context.before);
      void queries.invalidateQueries({ queryKey: key });
      toastError(error);
    },
    onSuccess: async (next, { change: wanted, said }, { before }) => {
      toast({
        text: said,
        undo: async () => settle(await change(next, partOf(before, wanted))),
      });
      await settle(next);
    },
  });
}

function partOf(flag: Flag, names: HeadChange): HeadChange {
  return {
    ...(names.active !== undefined && { active: flag.active }),
    ...(names.name !== undefined && { name: flag.name }),
    ...(names.tags !== undefined && { tags: flag.tags }),
    ...(names.deleted !== undefined && { deleted: flag.deleted }),
  };
}

const withVersion = (change: HeadChange, version: number): FlagChanges => ({ ...change, version });
