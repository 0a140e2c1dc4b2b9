import type { components } from "@/lib/schema";
import { words } from "@/words/flagAccess";

export type Member = components["schemas"]["OrganizationMember"];
export type Role = components["schemas"]["Role"];
export type RoleAccess = components["schemas"]["RoleAccessBody"];

/** The facts that decide who can edit a flag.
 *
 * setting: what every member may do with flags; null where the organization has not set it
 */
export interface Rights {
  members: readonly Member[];
  roles: readonly Role[];
  given: readonly RoleAccess[];
  setting: number | null;
  creatorId: number | null;
}

export interface Editor {
  member: Member;
  reason: string;
  /** May also give the flag to roles. */
  canShare: boolean;
}

// source: the server's levels of membership, and of access to flags
const MEMBER = 1;
const ADMIN = 8;
const EDIT = 37;

/** The members who may change the flag, each with the first reason that holds. */
export function editorsOf(rights: Rights): Editor[] {
  return rights.members.flatMap((member) => {
    const editor = editorOf(member, rights);
    return editor === null ? [] : [editor];
  });
}

function editorOf(member: Member, rights: Rights): Editor | null {
  const { roles, given, setting, creatorId } = rights;
  const reasons = words.reasons;
  const of = (reason: string, canShare: boolean) => ({ member, reason, canShare });
  if (member.level < MEMBER) return null;
  if (member.level >= ADMIN) return of(reasons.admin, true);
  if (setting === null || setting >= EDIT) return of(reasons.everyone, true);
  const own = roles.filter((role) => has(role, member));
  const editing = own.find((role) => role.feature_flags_access_level >= EDIT);
  if (editing !== undefined) return of(reasons.role(editing.name), true);
  if (member.user.id === creatorId) return of(reasons.creator, true);
  const role = own.find((one) => given.some((access) => access.role_id === one.id));
  return role === undefined ? null : of(reasons.given(role.name), false);
}

/** Return whether all members can edit all flags, so that roles add nothing. */
export const isOpenToAll = ({ setting }: Rights): boolean => setting === null || setting >= EDIT;

const has = (role: Role, member: Member): boolean =>
  role.members.some((one) => one.user.id === member.user.id);

export const nameOf = (user: { first_name: string; email: string }): string =>
  user.first_name || user.email;
