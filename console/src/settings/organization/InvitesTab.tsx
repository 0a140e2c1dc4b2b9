import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { MailPlus } from "lucide-react";
import { LEVELS } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { Badge, Notice } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { Card } from "@/ui/Page";
import { Empty, Loaded } from "@/ui/States";
import { Time } from "@/ui/Time";
import { toast, toastError } from "@/ui/Toast";
import { type Column, DataTable } from "@/ui/table";
import { words } from "@/words/settings";
import { type Invite, invitesQuery } from "../queries";
import { InviteButton } from "./InviteDialog";
import { levelName, useOwnLevel } from "./levels";

const T = words.invites;

const COLUMNS: readonly Column<Invite>[] = [
  {
    id: "email",
    header: T.email,
    grow: true,
    fixed: true,
    sortable: true,
    text: (invite) => invite.target_email,
    cell: (invite) => <bdi>{invite.target_email}</bdi>,
  },
  {
    id: "level",
    header: T.level,
    width: 130,
    text: (invite) => levelName(invite.level),
    cell: (invite) => levelName(invite.level),
  },
  {
    id: "by",
    header: words.by,
    width: 150,
    text: (invite) => invite.created_by.first_name,
    cell: (invite) => <bdi>{invite.created_by.first_name}</bdi>,
  },
  {
    id: "created",
    header: words.created,
    width: 140,
    sortable: true,
    text: (invite) => new Date(invite.created_at),
    cell: (invite) => <Time at={invite.created_at} />,
  },
  {
    id: "expires",
    header: T.expires,
    width: 140,
    sortable: true,
    text: (invite) => new Date(invite.expires_at),
    cell: (invite) =>
      invite.is_expired ? <Badge tone="warn">{T.expired}</Badge> : <Time at={invite.expires_at} />,
  },
  {
    id: "withdraw",
    header: words.actions,
    width: 110,
    text: () => null,
    cell: (invite) => <WithdrawButton invite={invite} />,
  },
];

export function InvitesTab() {
  const isAdmin = useOwnLevel() >= LEVELS.admin;
  const invites = useQuery({ ...invitesQuery, enabled: isAdmin });
  if (!isAdmin) return <Notice>{words.onlyAdmins}</Notice>;
  return (
    <Card isFlush title={T.label} description={T.emptyHint} actions={<InviteButton />}>
      <Loaded query={invites}>
        {(rows) => (
          <DataTable
            name="invites"
            label={T.label}
            columns={COLUMNS}
            rows={rows}
            rowId={(invite) => invite.id}
            empty={
              <Empty icon={MailPlus} title={T.empty}>
                <InviteButton />
              </Empty>
            }
          />
        )}
      </Loaded>
    </Card>
  );
}

function WithdrawButton({ invite }: { invite: Invite }) {
  const queries = useQueryClient();
  const withdraw = useMutation({
    mutationFn: () =>
      dataOf(
        api.DELETE("/api/organizations/{organization}/invites/{invite_id}/", {
          params: { path: { organization: "@current", invite_id: invite.id } },
        }),
      ),
    onSuccess: () => toast({ text: T.withdrawn }),
    onError: toastError,
    onSettled: () => queries.invalidateQueries({ queryKey: invitesQuery.queryKey }),
  });
  return (
    <Button small look="danger" isBusy={withdraw.isPending} onClick={() => withdraw.mutate()}>
      {T.withdraw}
    </Button>
  );
}
