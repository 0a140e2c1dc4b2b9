import { useMutation, useQueryClient } from "@tanstack/react-query";
import { toast, toastError } from "@/ui/Toast";
import { type Flag, isSame } from "../model";
import { changeFlag, type FlagChanges, flagKeys, flagQuery, isConflict } from "../queries";

type HeadFields = "active" | "name" | "tags" | "deleted";
type HeadChange = Partial<Pick<Flag, HeadFields>>;

interface Asked {
  change: HeadChange;
  /** The text of the toast, which offers to undo the change. */
  said: string;
}

/** Changes that are saved at once, and shown before the server agrees. A flag that has moved
 * meanwhile is changed all the same where it moved elsewhere.
 */
export function useHeadChange(projectId: string, flag: Flag) {
  const queries = useQueryClient();
  const key = flagKeys.one(projectId, flag.id);
  const show = (next: Flag) => queries.setQueryData(key, next);
  const shown = () => queries.getQueryData<Flag>(key) ?? flag;

  const change = async (version: number, wanted: HeadChange, former: Flag): Promise<Flag> => {
    try {
      return await changeFlag(projectId, flag.id, withVersion(wanted, version));
    } catch (error) {
      if (!isConflict(error)) throw error;
      const now = await queries.fetchQuery({ ...flagQuery(projectId, flag.id), staleTime: 0 });
      if (!isSame(partOf(now, wanted), partOf(former, wanted))) throw error;
      return changeFlag(projectId, flag.id, withVersion(wanted, now.version));
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
    // One after another: each is based on the version that the one before has made.
    scope: { id: `flag ${flag.id}` },
    mutationFn: ({ change: wanted }: Asked) => change(shown().version, wanted, flag),
    onMutate: ({ change: wanted }) => {
      const before = shown();
      show({ ...before, ...wanted });
      return { before };
    },
    onError: (error, _, context) => {
      if (context !== undefined) show(context.before);
      void queries.invalidateQueries({ queryKey: key });
      toastError(error);
    },
    onSuccess: async (next, { change: wanted, said }, { before }) => {
      toast({
        text: said,
        undo: async () => settle(await change(shown().version, partOf(before, wanted), next)),
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
