import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, dataOf } from "@/lib/api";
import { toast, toastError } from "@/ui/Toast";
import { words } from "@/words/settings";
import { ACCESS, type AccessLevel, type Role, rolesQuery } from "../queries";

/** The access that a role can have. Its value is the number as text, as select elements require. */
export const ACCESS_OPTIONS = [ACCESS.view, ACCESS.edit].map((level) => ({
  value: String(level),
  label: words.roles.accesses[level] ?? String(level),
}));

export const accessOf = (text: string): AccessLevel =>
  text === String(ACCESS.edit) ? ACCESS.edit : ACCESS.view;

const ofRole = (role: Role) => ({ organization: "@current", role_id: role.id });
export type RoleMember = Role["members"][number];

/** A change of roles: the list is read again after it. */
function useRoleChange<Change>(
  act: (change: Change) => Promise<unknown>,
  said?: (change: Change) => string,
) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: act,
    onSuccess: (_, change) => {
      if (said) toast({ text: said(change) });
    },
    onError: toastError,
    onSettled: () => queries.invalidateQueries({ queryKey: rolesQuery.queryKey }),
  });
}

export const useAccessChange = (role: Role) =>
  useRoleChange((feature_flags_access_level: AccessLevel) =>
    dataOf(
      api.PATCH("/api/organizations/{organization}/roles/{role_id}/", {
        params: { path: ofRole(role) },
        body: { feature_flags_access_level },
      }),
    ),
  );

export const useAddition = (role: Role) =>
  useRoleChange(
    (member: { uuid: string; name: string }) =>
      dataOf(
        api.POST("/api/organizations/{organization}/roles/{role_id}/role_memberships/", {
          params: { path: ofRole(role) },
          body: { user_uuid: member.uuid },
        }),
      ),
    (member) => words.roles.added(member.name),
  );

export const useRemoval = (role: Role) =>
  useRoleChange(
    (member: RoleMember) =>
      dataOf(
        api.DELETE(
          "/api/organizations/{organization}/roles/{role_id}/role_memberships/{member_id}/",
          {
            params: { path: { ...ofRole(role), member_id: member.id } },
          },
        ),
      ),
    (member) => words.roles.removed(member.user.first_name),
  );

export const useRoleDeletion = (role: Role) =>
  useRoleChange(() =>
    dataOf(
      api.DELETE("/api/organizations/{organization}/roles/{role_id}/", {
        params: { path: ofRole(role) },
      }),
    ),
  );
