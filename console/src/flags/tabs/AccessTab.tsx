import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useMe, useProject, useProjectId } from "@/app/session";
import { Notice } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { Card } from "@/ui/Page";
import { SelectField } from "@/ui/Select";
import { ErrorNote, Loaded, Skeleton } from "@/ui/States";
import { Time } from "@/ui/Time";
import { toast, toastError } from "@/ui/Toast";
import { words } from "@/words/flagAccess";
import type { Flag } from "../model";
import { flagKeys } from "../queries";
import { giveRole, rightsQuery, takeRole } from "./accessQueries";
import {
  type Editor,
  editorsOf,
  isOpenToAll,
  nameOf,
  type Rights,
  type RoleAccess,
} from "./rights";

/** The members who can edit the flag, and the roles that have access to it. */
export function AccessTab({ flag }: { flag: Flag }) {
  const organization = useProject()?.organization;
  return organization === undefined ? (
    <Skeleton />
  ) : (
    <Access flag={flag} organization={organization} />
  );
}

function Access({ flag, organization }: { flag: Flag; organization: string }) {
  const projectId = useProjectId();
  const rights = useQuery(rightsQuery(projectId, organization, flag));
  return (
    <Loaded query={rights}>
      {(loaded) => (
        <div className="grid items-start gap-4 lg:grid-cols-2">
          <Editors editors={editorsOf(loaded)} />
          <Roles projectId={projectId} flag={flag} rights={loaded} />
        </div>
      )}
    </Loaded>
  );
}

function Editors({ editors }: { editors: readonly Editor[] }) {
  const me = useMe();
  return (
    <Card title={words.whoTitle} description={words.who}>
      {editors.length === 0 ? (
        <p className="text-ink-2">{words.noEditor}</p>
      ) : (
        <table className="w-full">
          <thead className="text-left text-ink-2 text-sm">
            <tr>
              <th className="py-1 pr-3 font-medium">{words.columns.name}</th>
              <th className="py-1 font-medium">{words.columns.reason}</th>
            </tr>
          </thead>
          <tbody>
            {editors.map(({ member, reason }) => (
              <tr key={member.user.id} className="border-line border-t">
                <th scope="row" className="py-1.5 pr-3 text-left font-normal">
                  <bdi title={member.user.email}>{nameOf(member.user)}</bdi>
                  {member.user.id === me.id && (
                    <span className="ml-1.5 whitespace-nowrap text-ink-3 text-sm">{words.you}</span>
                  )}
                </th>
                <td className="py-1.5 text-ink-2">
                  <bdi>{reason}</bdi>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}

interface RolesProps {
  projectId: string;
  flag: Flag;
  rights: Rights;
}

function Roles({ projectId, flag, rights }: RolesProps) {
  const me = useMe();
  const canShare = editorsOf(rights).some((one) => one.member.user.id === me.id && one.canShare);
  const refresh = useRefresh(projectId);
  const take = useMutation({
    mutationFn: ({ id }: RoleAccess) => takeRole(projectId, flag.id, id),
    onSuccess: async (_, { role }) => {
      await refresh();
      toast({
        text: words.taken(role.name),
        undo: async () => {
          await giveRole(projectId, flag.id, role.id);
          await refresh();
        },
      });
    },
    onError: toastError,
  });
  return (
    <Card title={words.rolesTitle} description={words.rolesHint}>
      <div className="flex flex-col gap-3">
        {isOpenToAll(rights) && <Notice>{words.noEffect}</Notice>}
        {rights.given.length === 0 && <p className="text-ink-2">{words.noRoles}</p>}
        <ul className="flex flex-col">
          {rights.given.map((access) => (
            <li
              key={access.id}
              className="flex items-start justify-between gap-3 border-line border-b py-2 last:border-b-0"
            >
              <div className="min-w-0">
                <bdi className="font-medium">{access.role.name}</bdi>{" "}
                <span className="text-ink-3 text-sm">
                  {words.since} <Time at={access.added_at} />
                </span>
                <p className="text-ink-2 text-sm">{membersOf(access)}</p>
              </div>
              <Button
                small
                disabled={!canShare}
                isBusy={take.isPending && take.variables.id === access.id}
                aria-label={words.takeFrom(access.role.name)}
                onClick={() => take.mutate(access)}
              >
                {words.take}
              </Button>
            </li>
          ))}
        </ul>
        {canShare ? (
          <GiveForm projectId={projectId} flag={flag} rights={rights} />
        ) : (
          <p className="text-ink-3 text-sm">{words.noShare}</p>
        )}
      </div>
    </Card>
  );
}

function GiveForm({ projectId, flag, rights }: RolesProps) {
  const [chosen, setChosen] = useState("");
  const refresh = useRefresh(projectId);
  const others = rights.roles.filter(
    (role) => !rights.given.some((access) => access.role_id === role.id),
  );
  const give = useMutation({
    mutationFn: (roleId: string) => giveRole(projectId, flag.id, roleId),
    onSuccess: async ({ id, role }) => {
      setChosen("");
      await refresh();
      toast({
        text: words.given(role.name),
        undo: async () => {
          await takeRole(projectId, flag.id, id);
          await refresh();
        },
      });
    },
  });
  if (others.length === 0) {
    const text = rights.roles.length === 0 ? words.noneExist : words.allGiven;
    return <p className="text-ink-3 text-sm">{text}</p>;
  }
  return (
    <form
      className="flex flex-col gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (chosen !== "") give.mutate(chosen);
      }}
    >
      <div className="flex items-end gap-2">
        <SelectField
          label={words.role}
          value={chosen}
          options={[
            { value: "", label: words.choose },
            ...others.map((role) => ({ value: role.id, label: role.name })),
          ]}
          onChange={setChosen}
          className="grow"
        />
        <Button type="submit" disabled={chosen === ""} isBusy={give.isPending}>
          {words.give}
        </Button>
      </div>
      {give.error && <ErrorNote error={give.error} />}
    </form>
  );
}

/** Refreshes what depends on rights: the flag's `can_edit`, who can edit it, and its activity. */
function useRefresh(projectId: string): () => Promise<void> {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: flagKeys.all(projectId) });
}

function membersOf({ role }: RoleAccess): string {
  const names = role.members.map((one) => nameOf(one.user));
  return names.length === 0 ? words.noMembers : words.members(names.join(", "));
}
