import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { LEVELS, useMe } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { Badge } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { FormDialog } from "@/ui/Dialog";
import { Card } from "@/ui/Page";
import { Select } from "@/ui/Select";
import { Loaded } from "@/ui/States";
import { Time } from "@/ui/Time";
import { toast, toastError } from "@/ui/Toast";
import { type Column, DataTable } from "@/ui/table";
import { words } from "@/words/settings";
import { type Member, membersQuery } from "../queries";
import { InviteButton } from "./InviteDialog";
import { givenBy, type LevelNumber, levelName, levelOf, levelOptions, useOwnLevel } from "./levels";

const T = words.members;

export function MembersTab() {
  const members = useQuery(membersQuery);
  const [removed, setRemoved] = useState<Member | null>(null);
  const columns = useColumns(setRemoved);
  return (
    <Card isFlush title={T.label} actions={<InviteButton />}>
      <Loaded query={members}>
        {(rows) => (
          <DataTable
            name="members"
            label={T.label}
            columns={columns}
            rows={rows}
            rowId={(member) => member.user.uuid}
          />
        )}
      </Loaded>
      {removed && <RemoveMemberDialog member={removed} onClose={() => setRemoved(null)} />}
    </Card>
  );
}

function useColumns(onRemove: (member: Member) => void): readonly Column<Member>[] {
  const { uuid } = useMe();
  const own = useOwnLevel();
  return useMemo(() => {
    const isOwn = (member: Member) => member.user.uuid === uuid;
    // Administrators change those below them, owners everyone.
    const mayChange = (member: Member) =>
      !isOwn(member) && own >= LEVELS.admin && (own >= LEVELS.owner || member.level < own);
    return [
      {
        id: "name",
        header: T.name,
        grow: true,
        fixed: true,
        sortable: true,
        text: (member) => member.user.first_name,
        cell: (member) => (
          <span className="inline-flex items-center gap-2">
            <bdi>{member.user.first_name}</bdi>
            {isOwn(member) && <Badge>{T.you}</Badge>}
          </span>
        ),
      },
      {
        id: "email",
        header: T.email,
        grow: true,
        sortable: true,
        text: (member) => member.user.email,
        cell: (member) => <bdi>{member.user.email}</bdi>,
      },
      {
        id: "level",
        header: T.level,
        width: 170,
        sortable: true,
        text: (member) => levelName(member.level),
        cell: (member) =>
          mayChange(member) ? <LevelSelect member={member} /> : levelName(member.level),
      },
      {
        id: "factor",
        header: words.account.tabs.factor,
        width: 130,
        sortable: true,
        text: (member) => (member.is_2fa_enabled ? words.factor.on : words.factor.off),
        cell: (member) => (
          <Badge tone={member.is_2fa_enabled ? "good" : "neutral"}>
            {member.is_2fa_enabled ? words.factor.on : words.factor.off}
          </Badge>
        ),
      },
      {
        id: "joined",
        header: T.joined,
        width: 140,
        sortable: true,
        text: (member) => new Date(member.joined_at),
        cell: (member) => <Time at={member.joined_at} />,
      },
      {
        id: "remove",
        header: words.actions,
        width: 110,
        text: () => null,
        cell: (member) =>
          mayChange(member) || isOwn(member) ? (
            <Button small look="danger" onClick={() => onRemove(member)}>
              {isOwn(member) ? T.leave : T.remove}
            </Button>
          ) : null,
      },
    ];
  }, [uuid, own, onRemove]);
}

function LevelSelect({ member }: { member: Member }) {
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

function RemoveMemberDialog({ member, onClose }: { member: Member; onClose: () => void }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const isOwn = useMe().uuid === member.user.uuid;
  const remove = useMutation({
    mutationFn: () =>
      dataOf(
        api.DELETE("/api/organizations/{organization}/members/{user_uuid}/", {
          params: { path: { organization: "@current", user_uuid: member.user.uuid } },
        }),
      ),
    onSuccess: async () => {
      toast({ text: isOwn ? T.left : T.removed(member.user.first_name) });
      if (isOwn) {
        queries.clear();
        return navigate({ to: "/login" });
      }
      await queries.invalidateQueries({ queryKey: membersQuery.queryKey });
      onClose();
    },
  });
  return (
    <FormDialog
      isOpen
      isDanger
      onClose={onClose}
      title={isOwn ? T.leaveTitle : T.removeTitle(member.user.first_name)}
      description={isOwn ? T.leaveHint : T.removeHint}
      submit={isOwn ? T.leave : T.remove}
      onSubmit={() => remove.mutate()}
      isBusy={remove.isPending}
      error={remove.error}
    >
      {null}
    </FormDialog>
  );
}
