"""Personal keys with their scopes, and the caller of a request: the owner of a key or a session."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from fanion.errors import (
    FreshSignInRequired,
    Invalid,
    PermissionDenied,
    SecondFactorSetupRequired,
)
from fanion.projects.auth.keys import check_expiry
from fanion.projects.model import Level, Project, User

# How long after signing in a session may do what can harm others.
FRESH_FOR = timedelta(minutes=10)

ALL_SCOPES = "*"
SCOPE_OBJECTS = (
    "action",
    "activity_log",
    "annotation",
    "batch_export",
    "cohort",
    "dashboard",
    "event",
    "event_definition",
    "experiment",
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


class PersonalKey(Struct, frozen=True, kw_only=True):
    """A personal key, as it is stored and returned. Only the hash of its text is stored.

    Attributes:
        scopes: None allows everything.
        expires_at: None for a key that stays valid until it is revoked.
    """

    id: UUID
    label: str
    mask_value: str
    scopes: list[str] | None
    created_at: datetime
    last_used_at: Annotated[datetime | None, Meta(description="Updated hourly at most.")]
    user_id: int
    expires_at: datetime | None


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


def check_scopes(scopes: Sequence[str]) -> None:
    """Raise Invalid for a scope that does not exist."""
    for scope in scopes:
        if not is_scope(scope):
            raise Invalid(f"Invalid scope: {scope}", attr="scopes")


def check_expiry_of_key(
    expires_at: datetime | None, latest: datetime | None, now: datetime
) -> None:
    """Raise Invalid unless a key may be created with this expiry.

    Args:
        expires_at: None for a key that does not expire.
        latest: The expiry of the key that creates it; None if that does not expire.
    """
    if latest is not None and (expires_at is None or expires_at > latest):
        raise Invalid(
            f"Ensure this time is no later than {latest.isoformat()}, when the key that makes this "
            "one expires.",
            attr="expires_at",
        )
    if expires_at is not None:
        try:
            check_expiry(expires_at, now)
        except ValueError as error:
            raise Invalid(str(error), attr="expires_at") from None


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
