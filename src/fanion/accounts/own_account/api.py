"""The caller's own user, over HTTP.

Source: PostHog's `/api/users/@me/`; api.md, "Authentication".
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar
from uuid import UUID

from litestar import Controller, Response, get, patch
from litestar.di import NamedDependency
from litestar.params import RequestBody
from msgspec import UNSET, Meta, Struct, UnsetType, structs

from fanion.accounts.own_account.service import OwnAccounts, Proof
from fanion.accounts.own_account.store import AccountChange, organization_names
from fanion.accounts.second_factor.codes import CODE_CHARS_MAX
from fanion.accounts.sessions.cookies import set_cookie
from fanion.accounts.sign_in.api import device_of
from fanion.errors import Invalid
from fanion.projects.api import ProjectBody, project_body
from fanion.projects.auth.model import Principal
from fanion.projects.cache import Projects
from fanion.projects.model import FIRST_NAME_CHARS_MAX, LEVELS, Project, read_email
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.posthog_fields import MAINTAINED_OF_USER, UNSUPPORTED_OF_USER
from fanion.rest.validation import INTEGER_MAX


class OrganizationBody(Struct, kw_only=True):
    id: UUID
    name: str
    membership_level: Annotated[int, Meta(description=LEVELS)]


class MeBody(Struct, kw_only=True):
    id: int
    uuid: UUID
    distinct_id: str
    first_name: str
    email: str
    is_email_verified: bool
    has_password: Annotated[
        bool, Meta(description="False for a user who signs in by other means, or never did.")
    ]
    organization: OrganizationBody | None
    project: ProjectBody | None
    organizations: Annotated[list[OrganizationBody], Meta(description="All, by name.")]


class OwnAccountChanges(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_USER
    unsupported: ClassVar[Mapping[str, str]] = UNSUPPORTED_OF_USER

    first_name: Annotated[str, Meta(min_length=1, max_length=FIRST_NAME_CHARS_MAX)] | UnsetType = (
        UNSET
    )
    email: str | UnsetType = UNSET
    set_current_organization: Annotated[
        UUID | UnsetType, Meta(description="Its oldest project becomes the current one.")
    ] = UNSET
    set_current_team: Annotated[
        Annotated[int, Meta(ge=1, le=INTEGER_MAX)] | UnsetType,
        Meta(description="Id of the project that `@current` then refers to."),
    ] = UNSET
    password: str | UnsetType = UNSET
    current_password: Annotated[
        str | UnsetType,
        Meta(description="Needed for a new `email` or `password`, if there is a password."),
    ] = UNSET
    token: Annotated[
        Annotated[str, Meta(max_length=CODE_CHARS_MAX)] | UnsetType,
        Meta(
            description="A code of the second factor, or a recovery code: needed in place of "
            "`current_password` for an account without a password."
        ),
    ] = UNSET


class UsersApi(Controller):
    path = "/api/users"
    tags = ("Users",)
    opt = scoped("user")

    # Callers who must still set up a required second factor may use it, too.
    @get("/@me", summary="Retrieve the caller's own user", without_second_factor=True)
    async def me(
        self,
        request: ManagementRequest,
        projects: NamedDependency[Projects],
        own_accounts: NamedDependency[OwnAccounts],
    ) -> MeBody:
        """Return the caller's user, with the organization and project that `@current` refers to."""
        return await _me_body(request, request.principal, projects, own_accounts)

    @patch("/@me", summary="Update the caller's own user", own=True)
    async def change(
        self,
        request: ManagementRequest,
        data: RequestBody[OwnAccountChanges],
        projects: NamedDependency[Projects],
        own_accounts: NamedDependency[OwnAccounts],
    ) -> Response[MeBody]:
        """Update the caller's user.

        A new `email` or `password` needs `current_password`; without a password it needs `token`,
        if there is a second factor. It also needs a fresh sign-in or an unrestricted key. A new
        `password` ends all other sessions; the response then begins a new one.
        """
        principal = request.principal
        project = await _chosen_project(principal, data, projects)
        change = await _read_changes(request, data, project, own_accounts)
        await own_accounts.change_own_account(principal, change)
        headers = {}
        if change.password_hash is not None and principal.session_id is not None:
            sessions = own_accounts.sign_in.sessions
            value = await sessions.start_session(principal.user.id, "password", device_of(request))
            headers["set-cookie"] = set_cookie(value, request.origin)
            headers["cache-control"] = "no-store"
        after = _changed_principal(principal, change)
        return Response(await _me_body(request, after, projects, own_accounts), headers=headers)


async def _read_changes(
    request: ManagementRequest,
    data: OwnAccountChanges,
    project: Project | None,
    own_accounts: OwnAccounts,
) -> AccountChange:
    """Check the requested changes and the proof that they need.

    Raises:
        Invalid: A value or the proof is not valid.
        FreshSignInRequired: The user has to sign in again first.
        PermissionDenied: The key is restricted, or the account has no password.
        Throttled: The client has to wait.
    """
    principal = request.principal
    user, client = principal.user, request.remote_client
    email, password = _checked_email(data.email, user.email), _value_or_none(data.password)
    password_hash = None
    if email is not None:
        own_accounts.require_free_address(email)
    if email is not None or password is not None:
        proof = Proof(_value_or_none(data.current_password), _value_or_none(data.token))
        await own_accounts.prove(principal, proof, client)
    if password is not None:
        hashing = own_accounts.sign_in.passwords
        password_hash = await hashing.hash_new(password, email or user.email)
    return AccountChange(
        user_id=user.id,
        now=request.app.state.now(),
        by_user=user.id,
        first_name=_checked_name(data.first_name),
        email=email,
        current_project_id=None if project is None else project.id,
        password_hash=password_hash,
        details={"address": client.address},
    )


async def _chosen_project(
    principal: Principal, data: OwnAccountChanges, projects: Projects
) -> Project | None:
    """Return the chosen project, or None if none is chosen.

    Raises:
        Invalid: The caller has no access to the project or the organization.
    """
    project_id = data.set_current_team
    if project_id is not UNSET:
        project = await projects.by_id(project_id)
        if project is None or project.organization_id not in principal.levels:
            raise _does_not_exist(project_id, "set_current_team")
        return project
    organization_id = data.set_current_organization
    if organization_id is UNSET:
        return None
    if organization_id not in principal.levels:
        raise _does_not_exist(organization_id, "set_current_organization")
    oldest, _ = await projects.store.page({organization_id: 0}, 1, 0)
    if not oldest:
        raise Invalid("This organization has no project.", attr="set_current_organization")
    return oldest[0]


def _does_not_exist(value: object, attr: str) -> Invalid:
    """Build the same error whether the object is missing or belongs to somebody else."""
    return Invalid(
        f'Invalid pk "{value}" - object does not exist.', code="does_not_exist", attr=attr
    )


def _value_or_none(value: str | UnsetType) -> str | None:
    return None if value is UNSET else value


def _checked_name(value: str | UnsetType) -> str | None:
    if value is UNSET:
        return None
    name = value.strip()
    if not name:
        raise Invalid("This field may not be blank.", code="blank", attr="first_name")
    if not name.isprintable():
        raise Invalid("Ensure this field has no control characters.", attr="first_name")
    return name


def _checked_email(value: str | UnsetType, present: str) -> str | None:
    """Return the new address, or None for no change."""
    if value is UNSET:
        return None
    try:
        email = read_email(value)
    except ValueError:
        raise Invalid("Enter a valid email address.", attr="email") from None
    return None if email == present else email


def _changed_principal(principal: Principal, change: AccountChange) -> Principal:
    """Return the principal as the next request will find it."""
    named: dict[str, Any] = {
        "first_name": change.first_name,
        "email": change.email,
        "current_project_id": change.current_project_id,
    }
    changed = {name: value for name, value in named.items() if value is not None}
    if change.email is not None:
        changed["is_email_verified"] = False
    return replace(principal, user=replace(principal.user, **changed))


async def _me_body(
    request: ManagementRequest,
    principal: Principal,
    projects: Projects,
    own_accounts: OwnAccounts,
) -> MeBody:
    account = await own_accounts.sign_in.accounts.by_id(principal.user.id)
    project = await projects.current(principal)
    organization = await projects.organization(principal) if principal.levels else None
    levels = principal.levels
    names = await organization_names(own_accounts.records, list(levels))
    all_of_them = [
        OrganizationBody(id=organization_id, name=name, membership_level=levels[organization_id])
        for organization_id, name in names
    ]
    current = [
        organization_id
        for organization_id in all_of_them
        if organization and organization_id.id == organization.id
    ]
    return MeBody(
        **structs.asdict(principal.user.summary()),
        has_password=account is not None and own_accounts.sign_in.asks_password_of(account),
        organization=current[0] if current else None,
        project=None if project is None else project_body(project, request.app.state.now()),
        organizations=all_of_them,
    )
