"""Sessions of users who have signed in: how long they last, and what ends them."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal
from uuid import UUID

from fanion.projects.auth.model import Principal

SESSION_BYTES = 32  # random bytes in a cookie
IDLE_MAX = timedelta(days=14)
LIFETIME_MAX = timedelta(days=90)
# Beyond that, a new session ends the one that was used least recently.
SESSIONS_PER_USER_MAX = 50
USED_EVERY = timedelta(minutes=1)  # how often the time of the last use is written
USER_AGENT_CHARS_MAX = 300

# How a user proved who they are.
Method = Literal["password", "oidc", "link"]


class Purpose(StrEnum):
    """The purpose of a one-time link. A token is valid only for its own purpose."""

    FIRST_START = "first_start"
    RESET = "reset"
    MAILED_RESET = "mailed_reset"  # a reset link that only a reader of the user's mail sees


@dataclass(frozen=True, slots=True)
class SignInOptions:
    """The options that the console knows before a user has signed in.

    Attributes:
        password: Whether users may sign in with a password.
        mail: Whether links can be mailed.
        providers: Names of identity providers.
        capture_url: Where SDKs reach the server; "" for the address of the console.
    """

    password: bool = True
    mail: bool = False
    providers: tuple[str, ...] = ()
    capture_url: str = ""


DEFAULT_OPTIONS = SignInOptions()


@dataclass(frozen=True, slots=True)
class Device:
    """The client that began a session, as the list of sessions shows it."""

    address: str
    user_agent: str


def device(address: str, user_agent: str) -> Device:
    """Build a device, with a user agent that is cut and has only printable characters."""
    printable = "".join(char for char in user_agent[:USER_AGENT_CHARS_MAX] if char.isprintable())
    return Device(address, printable)


@dataclass(frozen=True, slots=True)
class Session:
    """A session that was found by its cookie.

    Attributes:
        expires_at: The end of the session, however much it is used.
    """

    principal: Principal
    last_used_at: datetime
    expires_at: datetime

    def has_ended(self, now: datetime, used_at: datetime | None = None) -> bool:
        """Return whether the session has expired or has been idle for too long.

        Args:
            used_at: The time of a use that has not been written to the store yet.
        """
        last = self.last_used_at if used_at is None else max(self.last_used_at, used_at)
        return self.expires_at <= now or last + IDLE_MAX <= now


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSession:
    id: UUID
    method: str
    address: str
    user_agent: str
    created_at: datetime
    last_used_at: datetime
    expires_at: datetime


def rights_of(levels: Mapping[UUID, int]) -> str:
    """Return a digest of what a user may do.

    A session whose stored digest differs from its owner's has ended. A change of level thus
    requires a new cookie, on every server.
    """
    text = ",".join(
        f"{organization_id}:{levels[organization_id]}" for organization_id in sorted(levels)
    )
    return hashlib.sha256(text.encode()).hexdigest()
