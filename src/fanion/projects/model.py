"""Organizations, projects, users, roles, and the rights of a key."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum
from typing import Any
from uuid import UUID

from msgspec import Struct

from fanion.errors import FreshSignInRequired, PermissionDenied, SecondFactorSetupRequired

EMAIL_CHARS_MAX = 254  # RFC 5321 section 4.5.3.1.3, without the angle brackets
FIRST_NAME_CHARS_MAX = 150  # as in PostHog
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")

# How long after signing in a session may do what can harm others.
FRESH_FOR = timedelta(minutes=10)

ALL_SCOPES = "*"
SCOPE_OBJECTS = (
    "activity_log",
    "cohort",
    "dashboard",
    "event",
    "event_definition",
    "feature_flag",
    "group",
    "insight",
    "organization",
    "person",
    "project",
    "property_definition",
    "query",
    "user",
    "webhook",
)


class Level(IntEnum):
    """The rights of a member of an organization.

    The levels are PostHog's, except `VIEWER`, who may read what members read and change nothing.
    """

    VIEWER = 0
    MEMBER = 1
    ADMIN = 8
    OWNER = 15


LEVELS = "0 viewer, 1 member, 8 administrator, 15 owner."  # in descriptions of fields


def read_level(text: str) -> Level:
    """Parse the name of a level, in any case.

    Raises:
        ValueError: The message lists the allowed names.
    """
    try:
        return Level[text.strip().upper()]
    except KeyError:
        names = [level.name.lower() for level in Level]
        allowed = f"{', '.join(names[:-1])} or {names[-1]}"
        raise ValueError(f"{text!r} is not a level; use {allowed}.") from None


@dataclass(frozen=True, slots=True)
class Organization:
    """An organization.

    Attributes:
        enforce_2fa: Whether members need a second factor.
    """

    id: UUID
    name: str
    enforce_2fa: bool = False


class IngestionSettings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Rules for the events of a project; by default there are none.

    Attributes:
        anonymize_ips: Neither an address nor the `$ip` of an event is stored.
        dropped_user_agents: Events whose user agent contains one of these texts, in any case, are
            dropped.
        removed_properties: Names that are removed from events and person updates.
        items_per_second: None for no limit.
        bytes_per_second: Bytes of decompressed JSON; None for no limit.
        burst_seconds: The size of a burst, in seconds of the limit.
    """

    anonymize_ips: bool = False
    dropped_user_agents: tuple[str, ...] = ()
    removed_properties: tuple[str, ...] = ()
    items_per_second: float | None = None
    bytes_per_second: float | None = None
    burst_seconds: float = 10.0

    @property
    def is_limited(self) -> bool:
        return self.items_per_second is not None or self.bytes_per_second is not None


DEFAULT_INGESTION = IngestionSettings()


# The days on which weeks begin, by the numbers of the API.
SUNDAY, MONDAY = 0, 1

# How long a replaced key stays valid, by default and at most. Installed apps take weeks to be
# updated.
FORMER_VALID_S = 86_400
FORMER_VALID_S_MAX = 90 * 86_400
# The number of valid former keys of one project or one webhook.
FORMER_KEYS_MAX = 5


@dataclass(frozen=True, slots=True)
class FormerToken:
    """A project key that was replaced, and stays valid until `valid_until`."""

    token: str
    valid_until: datetime


@dataclass(frozen=True, slots=True)
class Project:
    """A project with its settings.

    Attributes:
        api_token: Public; sent with every captured event.
        timezone: An IANA name.
        former_tokens: The first to expire comes first. They may include expired ones.
        test_account_filters: Conditions as they were sent. An event that is not of a test account
            fulfils all of them.
        week_start_day: 0 for Sunday, 1 for Monday.
        path_cleaning_filters: Rules as they were sent, with `regex` (RE2) and `alias`, applied one
            after the other.
    """

    id: int
    uuid: UUID
    organization_id: UUID
    name: str
    api_token: str
    timezone: str
    created_at: datetime
    ingestion: IngestionSettings = DEFAULT_INGESTION
    former_tokens: tuple[FormerToken, ...] = ()
    test_account_filters: tuple[Mapping[str, Any], ...] = ()
    week_start_day: int = SUNDAY
    path_cleaning_filters: tuple[Mapping[str, Any], ...] = ()

    def tokens(self, now: datetime) -> tuple[str, ...]:
        """Return the current token and the former ones that are valid."""
        former = [
            former_token.token
            for former_token in self.former_tokens
            if former_token.valid_until > now
        ]
        return self.api_token, *former


class UserSummary(Struct, frozen=True):
    """A user in `created_by` and elsewhere.

    Source: api.md, "User summary".
    """

    id: int
    uuid: UUID
    distinct_id: str
    first_name: str
    email: str
    is_email_verified: bool


def user_summary(row: Any) -> UserSummary | None:
    """Build the summary from a row with the columns `USER_SUMMARY` of organizations_store.

    Returns:
        None if the row has no user.
    """
    values: Mapping[str, Any] = row._mapping
    if values["by_id"] is None:
        return None
    return UserSummary(*(values[f"by_{name}"] for name in UserSummary.__struct_fields__))


@dataclass(frozen=True, slots=True)
class User:
    id: int
    uuid: UUID
    distinct_id: str
    first_name: str
    email: str
    is_email_verified: bool
    current_project_id: int | None

    def summary(self) -> UserSummary:
        return UserSummary(
            self.id,
            self.uuid,
            self.distinct_id,
            self.first_name,
            self.email,
            self.is_email_verified,
        )


def read_email(text: str) -> str:
    """Return an e-mail address in lower case, as it is stored and compared, or raise ValueError."""
    email = text.strip().lower()
    if not (_EMAIL.fullmatch(email) and email.isprintable()):
        raise ValueError(f"{text!r} is not an e-mail address, such as ada@example.com.")
    if len(email) > EMAIL_CHARS_MAX:
        raise ValueError(f"an e-mail address has at most {EMAIL_CHARS_MAX} characters.")
    return email


def read_first_name(text: str) -> str:
    """Return a name without surrounding spaces.

    Raises:
        ValueError: The message says what is allowed.
    """
    name = text.strip()
    if not 1 <= len(name) <= FIRST_NAME_CHARS_MAX:
        raise ValueError(f"the name must have 1 to {FIRST_NAME_CHARS_MAX} characters.")
    return name


@dataclass(frozen=True, slots=True)
class PersonalKey:
    """A personal key. Only the hash of its text is stored.

    Attributes:
        scopes: None allows everything.
        expires_at: None for a key that stays valid until it is revoked.
    """

    id: UUID
    user_id: int
    label: str
    mask_value: str
    scopes: tuple[str, ...] | None
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller: the owner of a personal key or of a session.

    A key has its scopes; a session may do whatever its owner may.

    Attributes:
        key_id: None for a session.
        levels: Membership levels by organization.
        session_id: None for a personal key.
        authenticated_at: When the owner of the session last signed in or confirmed who they are.
        lacks_second_factor: Whether an organization of the session's owner requires a second factor
            that the owner does not have.
    """

    user: User
    key_id: UUID | None
    key_last_used_at: datetime | None
    scopes: tuple[str, ...] | None
    levels: Mapping[UUID, int]
    key_expires_at: datetime | None = None
    session_id: UUID | None = None
    authenticated_at: datetime | None = None
    lacks_second_factor: bool = False

    @property
    def credential(self) -> str:
        """The id of the key or session, for the log."""
        return str(self.key_id) if self.session_id is None else f"session:{self.session_id}"

    @property
    def is_unrestricted(self) -> bool:
        return self.scopes is None or ALL_SCOPES in self.scopes

    def require_scope(self, scope: str | None) -> None:
        """Raise PermissionDenied if the key lacks the scope.

        Args:
            scope: `<object>:read` or `<object>:write`; None for actions that no restricted key may
                do.

        Source: capture.md, section 9.1.
        """
        if self.is_unrestricted:
            return
        if scope is None:
            raise PermissionDenied("This action does not support Personal API Key access")
        if not allows(self.scopes or (), scope):
            raise PermissionDenied(f"API key missing required scope '{scope}'")

    def require_session(self) -> None:
        """Raise PermissionDenied for a personal key."""
        if self.session_id is None:
            raise PermissionDenied("This action does not support Personal API Key access")

    def require_fresh_sign_in(self, now: datetime) -> None:
        """Raise FreshSignInRequired for a session that is not fresh. Personal keys always pass."""
        if self.authenticated_at is not None and now - self.authenticated_at > FRESH_FOR:
            raise FreshSignInRequired

    @property
    def may_give_access(self) -> bool:
        """Return whether another user may get rights from this caller.

        The rights that a user gets have neither the scopes nor the expiry of the key that gives
        them.
        """
        return self.is_unrestricted and self.key_expires_at is None

    def require_may_give_access(self) -> None:
        """Raise FreshSignInRequired for a key that may do less than a user who gets access."""
        if not self.may_give_access:
            raise access_not_given()

    def require_may_let_edit_flags(self) -> None:
        """Raise PermissionDenied for a key that may not edit flags, but would let others do so."""
        self.require_scope("feature_flag:write")

    def require_second_factor(self) -> None:
        """Raise SecondFactorSetupRequired if the session's owner lacks a required factor."""
        if self.lacks_second_factor:
            raise SecondFactorSetupRequired

    def require_access(
        self,
        project: Project | None,
        scope: str | None,
        *,
        changes: bool = False,
        organization_id: UUID | None = None,
    ) -> None:
        """Raise PermissionDenied unless the caller may make this request.

        Args:
            project: None for a request without a project.
            scope: Passed to `require_scope`.
            changes: Whether the request may change something, which a viewer may not.
            organization_id: The organization that the request names instead of a project.
        """
        if project is not None:
            self.require_member(project)
            organization_id = project.organization_id
        self.require_scope(scope)
        if changes and self.level_in(organization_id) < Level.MEMBER:
            raise PermissionDenied("Viewers cannot make changes.")

    def level_in(self, organization_id: UUID | None) -> int:
        """Return the caller's level in an organization.

        For None, which stands for objects of no organization, and for an organization that the
        user is not in, this is the highest level of the user.
        """
        highest = max(self.levels.values(), default=Level.MEMBER)
        return highest if organization_id is None else self.levels.get(organization_id, highest)

    def require_member(self, project: Project) -> None:
        if project.organization_id not in self.levels:
            raise PermissionDenied("You don't have access to the project.")

    def require_level(self, organization_id: UUID, level: Level) -> None:
        present = self.levels.get(organization_id)
        if present is None or present < level:
            raise PermissionDenied("Your organization access level is insufficient.")


def access_not_given() -> FreshSignInRequired:
    return FreshSignInRequired(
        "The user could do more than this key. Sign in to do this, or use a personal API key "
        "that has neither scopes nor an expiry."
    )


def allows(scopes: Sequence[str], scope: str) -> bool:
    """Return whether the scopes include the wanted one. Writing includes reading."""
    name, _, action = scope.partition(":")
    return scope in scopes or (action == "read" and f"{name}:write" in scopes)


def is_scope(text: str) -> bool:
    name, _, action = text.partition(":")
    return text == ALL_SCOPES or (name in SCOPE_OBJECTS and action in {"read", "write"})
