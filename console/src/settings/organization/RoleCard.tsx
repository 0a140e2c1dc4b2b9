import { useQuery } from "@tanstack/react-query";
import { Trash2, X } from "lucide-react";
import { useState } from "react";
import { LEVELS } from "@/app/session";
import { IconButton } from "@/ui/Button";
import { FormDialog } from "@/ui/Dialog";
import { Select } from "@/ui/Select";
import { words } from "@/words/settings";
import { membersQuery, type Role } from "../queries";
import {
  ACCESS_OPTIONS,
  accessOf,
  type RoleMember,
  useAccessChange,
  useAddition,
  useRemoval,
  useRoleDeletion,
} from "./roles";

const T = words.roles;

export function RoleCard({ role, isAdmin }: { role: Role; isAdmin: boolean }) {
  const access = useAccessChange(role);
  const [isDeleting, setDeleting] = useState(false);
  return (
    <li className="rounded-md border border-line p-3">
      <div className="flex flex-wrap items-center gap-3">
        <h3 className="font-semibold">
          <bdi>{role.name}</bdi>
        </h3>
        <div className="ml-auto flex items-center gap-2">
          <span className="whitespace-nowrap text-ink-2">{T.access}</span>
          <Select
            aria-label={`${T.access}: ${role.name}`}
            disabled={!isAdmin}
            value={String(accessOf(String(role.feature_flags_access_level)))}
            options={ACCESS_OPTIONS}
            onChange={(level) => access.mutate(accessOf(level))}
          />
          {isAdmin && (
            <IconButton icon={Trash2} label={words.delete} onClick={() => setDeleting(true)} />
          )}
        </div>
      </div>
      <RoleMembers role={role} isAdmin={isAdmin} />
      {role.associated_flags.length > 0 && (
        <p className="mt-2 text-ink-2 text-sm">
          {T.flags}: <bdi>{role.associated_flags.map((flag) => flag.key).join(", ")}</bdi>
        </p>
      )}
      {isDeleting && <DeleteRoleDialog role={role} onClose={() => setDeleting(false)} />}
    </li>
  );
}

function RoleMembers({ role, isAdmin }: { role: Role; isAdmin: boolean }) {
  const members = useQuery(membersQuery).data ?? [];
  const addition = useAddition(role);
  const inRole = new Set(role.members.map((member) => member.user.uuid));
  const others = members.filter((member) => !inRole.has(member.user.uuid));
  const isViewer = ({ user }: RoleMember) =>
    members.some((one) => one.user.uuid === user.uuid && one.level === LEVELS.viewer);
  const add = (uuid: string) => {
    const found = others.find((member) => member.user.uuid === uuid);
    if (found) addition.mutate({ uuid, name: found.user.first_name });
  };
  return (
    <div className="mt-2 flex flex-wrap items-center gap-2">
      {role.members.map((member) => (
        <MemberChip
          key={member.id}
          role={role}
          member={member}
          isViewer={isViewer(member)}
          isAdmin={isAdmin}
        />
      ))}
      {isAdmin && others.length > 0 && (
        <div className="w-48">
          <Select
            aria-label={T.addTo(role.name)}
            value=""
            options={[
              { value: "", label: T.add },
              ...others.map((one) => ({ value: one.user.uuid, label: one.user.first_name })),
            ]}
            onChange={add}
          />
        </div>
      )}
    </div>
  );
}

interface MemberChipProps {
  role: Role;
  member: RoleMember;
  /** Viewers cannot edit flags, whatever their role. */
  isViewer: boolean;
  isAdmin: boolean;
}

function MemberChip({ role, member, isViewer, isAdmin }: MemberChipProps) {
  const removal = useRemoval(role);
  return (
    <span className="inline-flex items-center gap-1 rounded-full bg-sunken py-0.5 pr-1 pl-3">
      <bdi>{member.user.first_name}</bdi>
      {isViewer && <span className="text-ink-3 text-sm">({T.viewer})</span>}
      {isAdmin && (
        <IconButton
          icon={X}
          label={T.removeFrom(member.user.first_name, role.name)}
          className="size-6"
          disabled={removal.isPending}
          onClick={() => removal.mutate(member)}
        />
      )}
    </span>
  );
}

function DeleteRoleDialog({ role, onClose }: { role: Role; onClose: () => void }) {
  const deletion = useRoleDeletion(role);
  return (
    <FormDialog
      isOpen
      isDanger
      onClose={onClose}
      title={T.deleteTitle(role.name)}
      description={T.deleteHint}
      submit={words.delete}
      onSubmit={() => deletion.mutate(undefined, { onSuccess: onClose })}
      isBusy={deletion.isPending}
    >
      {null}
    </FormDialog>
  );
}
