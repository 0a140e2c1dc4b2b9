import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, dataOf } from "@/lib/api";
import { Select } from "@/ui/Field";
import { toast, toastError } from "@/ui/Toast";
import { words } from "@/words/settings";
import { type Member, membersQuery } from "../queries";
import { givenBy, type LevelNumber, levelName, levelOf, levelOptions, useOwnLevel } from "./levels";

const T = words.members;

export function LevelSelect({ member }: { member: Member }) {
  const queries = useQueryClient();
  const levels = givenBy(useOwnLevel());
  const change = useMutation({
    mutationFn: (level: LevelNumber) =>
      dataOf(
        api.PATCH("/api/organizations/{organization}/members/{user_uuid}/", {
          params: { path: { organization: "@current", user_uuid: member.user.uuid } },
          body: { level },
        }),
      ),
    onSuccess: (changed) =>
      toast({ text: T.changed(member.user.first_name, levelName(changed.level)) }),
    onError: toastError,
    onSettled: () => queries.invalidateQueries({ queryKey: membersQuery.queryKey }),
  });
  return (
    <Select
      aria-label={T.levelOf(member.user.first_name)}
      disabled={change.isPending}
      value={String(member.level)}
      options={levelOptions(levels)}
      onChange={(level) => change.mutate(levelOf(level))}
    />
  );
}
