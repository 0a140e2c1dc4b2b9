"""The commands `fanion users` and `fanion roles`: the API's users and their permissions.

They use the records store directly, whether a server runs or not.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any, TypeVar
from uuid import UUID

import typer

from fanion.accounts.password_links.store import PRINTED_LASTS, reset_link
from fanion.accounts.second_factor.store import SecondFactorStore
from fanion.activity.model import OrganizationAuthor
from fanion.cli.options import AsJson, Data
from fanion.cli.output import (
    NOT_SET_UP,
    print_result,
    printable,
    refuse,
    settings_of,
    time_text,
    with_records,
)
from fanion.db.engine import Records
from fanion.db.schema.organizations import ROLE_NAME_CHARS_MAX
from fanion.errors import NotFound
from fanion.flags.definitions.role_access.store import revoke_flags_of_role
from fanion.projects.auth.keys import KEY_LABEL_CHARS_MAX, read_expiry
from fanion.projects.members.model import Member, NewMember
from fanion.projects.members.service import MemberService
from fanion.projects.members.store import MemberStore, first_organization
from fanion.projects.model import read_email, read_first_name, read_level
from fanion.projects.organizations.model import AccessLevel
from fanion.projects.roles.model import Role
from fanion.projects.roles.service import RoleService
from fanion.projects.roles.store import RoleStore
from fanion.runtime.clock import utc_now

T = TypeVar("T")

# The API's largest page.
ROLES_LISTED_MAX = 10_000

users = typer.Typer(help="Users: who may call the management API.", no_args_is_help=True)
roles = typer.Typer(help="Roles: which members may edit which feature flags.", no_args_is_help=True)

Email = Annotated[str, typer.Argument(help="The user's e-mail address.")]
RoleName = Annotated[str, typer.Argument(help="The role's name; case is ignored.")]


@users.command("add")
def add_user(
    email: Annotated[str, typer.Argument(help="The user's e-mail address; case is ignored.")],
    level: Annotated[str, typer.Option(help="viewer, member, admin or owner.")] = "member",
    name: Annotated[
        str | None, typer.Option(help="First name; the part before the @ by default.")
    ] = None,
    label: Annotated[str, typer.Option(help="What the key is for.")] = "Command line",
    expires: Annotated[
        str | None, typer.Option(help="When the key expires, as for `fanion keys create`.")
    ] = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Add a user to the organization, and print a personal API key for them.

    The key is not shown again.
    """
    now = utc_now()
    expiry = partial(read_expiry, now=now)
    new = NewMember(
        email=_read_argument("the address", read_email, email),
        first_name=_read_argument(
            "--name", read_first_name, email.split("@")[0] if name is None else name
        ),
        level=_read_argument("--level", read_level, level),
        key_label=_read_argument("--label", _key_label, label),
        key_expires_at=None if expires is None else _read_argument("--expires", expiry, expires),
    )

    async def work(records: Records, organization_id: UUID) -> dict[str, Any]:
        member, key, text = await _members(records).add_member(organization_id, new, now)
        return {
            "id": member.user_id,
            "uuid": str(member.uuid),
            "email": member.email,
            "first_name": member.first_name,
            "level": member.level.name.lower(),
            "key_id": str(key.id),
            "personal_api_key": text,
            "expires_at": time_text(key.expires_at),
        }

    print_result(_run_in_organization(data, work), as_json)


@users.command("list")
def list_users(data: Data = None, as_json: AsJson = False) -> None:
    """List the users of the organization, the first to join first."""

    async def work(records: Records, organization_id: UUID) -> list[dict[str, Any]]:
        return [
            _user_row(member) for member in await MemberStore(records).all_members(organization_id)
        ]

    print_result(_run_in_organization(data, work), as_json)


@users.command("set-level")
def set_level(
    email: Email,
    level: Annotated[str, typer.Argument(help="viewer, member, admin or owner.")],
    data: Data = None,
) -> None:
    """Make a user a viewer, a member, an administrator or an owner."""
    new_level = _read_argument("the level", read_level, level)

    async def work(records: Records, organization_id: UUID) -> Member:
        return await _members(records).set_level(
            organization_id, _normalised_email(email), new_level, utc_now()
        )

    changed = _run_for_user(data, email, work)
    print(f"{printable(changed.email)} has the level {changed.level.name.lower()}.")


@users.command("disable")
def disable_user(email: Email, data: Data = None) -> None:
    """Refuse a user's keys until `fanion users enable`, and end their sessions.

    Running servers follow within seconds.
    """
    print(f"{printable(_set_active(data, email, is_active=False).email)} is disabled.")


@users.command("enable")
def enable_user(email: Email, data: Data = None) -> None:
    """Accept the keys of a disabled user again."""
    print(f"{printable(_set_active(data, email, is_active=True).email)} is active.")


@users.command("remove")
def remove_user(email: Email, data: Data = None) -> None:
    """Remove a user from the organization and its roles, and delete their keys.

    What they created stays, and still names them.
    """

    async def work(records: Records, organization_id: UUID) -> None:
        await _members(records).remove_member(organization_id, _normalised_email(email), utc_now())

    _run_for_user(data, email, work)
    print("Removed.")


@users.command("remove-second-factor")
def remove_second_factor(email: Email, data: Data = None) -> None:
    """Let a user who lost phone and recovery codes sign in with only the password."""

    async def work(records: Records, organization_id: UUID) -> bool:
        member = await MemberStore(records).find_member(organization_id, _normalised_email(email))
        return await SecondFactorStore(records).remove(member.user_id, None, utc_now())

    if not _run_for_user(data, email, work):
        refuse(printable(f"{email} has no second factor."))
    print("Removed.")


@users.command("reset")
def reset_user(email: Email, data: Data = None, as_json: AsJson = False) -> None:
    """Print a link with which a user sets a new password and signs in.

    The link works once, within a day. Until it is used nothing changes.
    """
    now, settings = utc_now(), settings_of(data=data)

    async def work(records: Records, organization_id: UUID) -> dict[str, Any]:
        members = await MemberStore(records).all_members(organization_id)
        member = next(
            (candidate for candidate in members if candidate.email == _normalised_email(email)),
            None,
        )
        if member is None:
            raise NotFound
        if not member.is_active:
            refuse(printable(f"{member.email} is disabled; use `fanion users enable` first."))
        link = await reset_link(records, settings.operator_url, member.user_id, now)
        return {
            "email": member.email,
            "link": link,
            "expires_at": time_text(now + PRINTED_LASTS),
        }

    print_result(_run_for_user(data, email, work), as_json)


@roles.command("list")
def list_roles(data: Data = None, as_json: AsJson = False) -> None:
    """List roles by name, with their members and the flags that they may edit."""

    async def work(records: Records, organization_id: UUID) -> list[dict[str, Any]]:
        page, _ = await RoleStore(records).list_roles(organization_id, ROLES_LISTED_MAX, 0)
        return [_role_row(role, as_json) for role in page]

    print_result(_run_in_organization(data, work), as_json)


@roles.command("add")
def add_role(
    name: Annotated[str, typer.Argument(help="Unique, ignoring case.")],
    access: Annotated[
        str | None,
        typer.Option(
            help="edit: all flags; view: only the flags granted to the role. The organization's "
            "default access if not set."
        ),
    ] = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Create a role, without members."""
    if not 1 <= len(name) <= ROLE_NAME_CHARS_MAX:
        refuse(f"The name must have 1 to {ROLE_NAME_CHARS_MAX} characters.")
    level = None if access is None else _read_argument("--access", _access_level, access)

    async def work(records: Records, organization_id: UUID) -> dict[str, Any]:
        role = await _roles(records).create_role(_operator(organization_id), name, level)
        return _role_row(role, as_json)

    print_result(_run_in_organization(data, work), as_json)


@roles.command("remove")
def remove_role(name: RoleName, data: Data = None) -> None:
    """Delete a role, with its memberships and its access to flags."""

    async def work(records: Records, organization_id: UUID) -> None:
        role = await _find_role(records, organization_id, name)
        await _roles(records).remove_role(_operator(organization_id), role.id)

    _run_in_organization(data, work)
    print("Removed.")


@roles.command("add-member")
def add_role_member(name: RoleName, email: Email, data: Data = None) -> None:
    """Add a user of the organization to a role."""

    async def work(records: Records, organization_id: UUID) -> None:
        address = _normalised_email(email)
        role = await _find_role(records, organization_id, name)
        members = await MemberStore(records).all_members(organization_id)
        uuid = next((member.uuid for member in members if member.email == address), None)
        if uuid is None:
            raise NotFound
        await _roles(records).add_member(_operator(organization_id), role.id, uuid)

    _run_for_user(data, email, work)
    print("Added.")


@roles.command("remove-member")
def remove_role_member(name: RoleName, email: Email, data: Data = None) -> None:
    """Remove a user from a role."""

    async def work(records: Records, organization_id: UUID) -> None:
        address = _normalised_email(email)
        role = await _find_role(records, organization_id, name)
        for membership in role.members:
            if membership.user.email == address:
                by = _operator(organization_id)
                await _roles(records).remove_member(by, role.id, membership.id)
                return
        refuse(printable(f"{address} is not in the role {role.name}."))

    _run_in_organization(data, work)
    print("Removed.")


def _set_active(data: Data, email: str, *, is_active: bool) -> Member:
    async def work(records: Records, organization_id: UUID) -> Member:
        return await _members(records).set_active(
            organization_id, _normalised_email(email), is_active, utc_now()
        )

    return _run_for_user(data, email, work)


def _members(records: Records) -> MemberService:
    return MemberService(MemberStore(records))


def _roles(records: Records) -> RoleService:
    return RoleService(RoleStore(records), revoke_flags_of_role)


def _operator(organization_id: UUID) -> OrganizationAuthor:
    return OrganizationAuthor(organization_id, None, utc_now())


async def _find_role(records: Records, organization_id: UUID, name: str) -> Role:
    try:
        return await RoleStore(records).find_by_name(organization_id, name)
    except NotFound:
        refuse(printable(f"There is no role {name}; `fanion roles list` shows them."))


def _run_for_user(data: Data, email: str, work: Callable[[Records, UUID], Awaitable[T]]) -> T:
    """Run `work`, and refuse if the organization has no such user.

    Args:
        work: Raises NotFound if there is no such user.
    """

    async def found(records: Records, organization_id: UUID) -> T:
        try:
            return await work(records, organization_id)
        except NotFound:
            refuse(printable(f"There is no user {email}; `fanion users list` shows them."))

    return _run_in_organization(data, found)


def _run_in_organization(data: Data, work: Callable[[Records, UUID], Awaitable[T]]) -> T:
    """Run `work` for the first organization, which is the only one that setup creates."""

    async def found(records: Records) -> T:
        organization_id = await first_organization(records)
        if organization_id is None:
            refuse(NOT_SET_UP)
        return await work(records, organization_id)

    return with_records(settings_of(data=data), found)


def _read_argument(what: str, read: Callable[[str], T], text: str) -> T:
    try:
        return read(text)
    except ValueError as error:
        refuse(printable(f"{what}: {error}"))


def _normalised_email(email: str) -> str:
    return email.strip().lower()


def _key_label(text: str) -> str:
    if not 1 <= len(text) <= KEY_LABEL_CHARS_MAX:
        raise ValueError(f"a label has 1 to {KEY_LABEL_CHARS_MAX} characters.")
    return text


def _access_level(text: str) -> AccessLevel:
    try:
        return AccessLevel[text.strip().upper()]
    except KeyError:
        raise ValueError(f"{text!r} is not an access level; use view or edit.") from None


def _user_row(member: Member) -> dict[str, Any]:
    return {
        "id": member.user_id,
        "uuid": str(member.uuid),
        "email": member.email,
        "first_name": member.first_name,
        "level": member.level.name.lower(),
        "active": member.is_active,
        "keys": member.keys,
        "joined_at": time_text(member.joined_at),
        "last_used_at": time_text(member.last_used_at),
    }


def _role_row(role: Role, as_json: bool) -> dict[str, Any]:
    """Return a role as a row; its lists become a line of text unless the output is JSON."""
    members = [membership.user.email for membership in role.members]
    flags = [flag.key for flag in role.associated_flags]
    return {
        "id": str(role.id),
        "name": role.name,
        "access": AccessLevel(role.feature_flags_access_level).name.lower(),
        "members": members if as_json else ", ".join(members),
        "flags": flags if as_json else ", ".join(flags),
    }
