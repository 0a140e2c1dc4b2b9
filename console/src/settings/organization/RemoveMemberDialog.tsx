import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useMe } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { FormDialog } from "@/ui/Dialog";
import { toast } from "@/ui/Toast";
import { words } from "@/words/settings";
import { type Member, membersQuery } from "../queries";

const T = words.members;

export function RemoveMemberDialog({ member, onClose }: { member: Member; onClose: () => void }) {
  const queries = useQueryClient();
  const isOwn = useMe().uuid === member.user.uuid;
  const remove = useMutation({
    mutationFn: () =>
      dataOf(
        api.DELETE("/api/organizations/{organization}/members/{user_uuid}/", {
          params: { path: { organization: "@current", user_uuid: member.user.uuid } },
        }),
      ),
    onSuccess: async () => {
      toast({ text: T.removed(member.user.first_name) });
      await queries.invalidateQueries(isOwn ? {} : { queryKey: membersQuery.queryKey });
      onClose();
    },
  });
  return (
    <FormDialog
      isOpen
      isDanger
      onClose={onClose}
      title={T.removeTitle(member.user.first_name)}
      description={T.removeHint}
      submit={isOwn ? T.leave : T.remove}
      onSubmit={() => remove.mutate()}
      isBusy={remove.isPending}
      error={remove.error}
    >
      {null}
    </FormDialog>
  );
}
