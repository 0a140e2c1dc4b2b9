"""Sessions of people who have signed in: how long they last, and what ends them."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal
from uuid import UUID

from fanion.projects.model import Principal

SESSION_BYTES = 32  # of randomness in a cookie
IDLE_MAX = timedelta(days=14)
LIFETIME_MAX = timedelta(days=90)
# The one that was used least recently ends when another begins.
SESSIONS_PER_USER_MAX = 50
USED_EVERY = timedelta(minutes=1)  # how often the time of the last use is written
USER_AGENT_CHARS_MAX = 300

# How a person proved who they are.
Method = Literal["password", "oidc", "link"]


class Purpose(StrEnum):
    """What a link for one use is for; a token is valid for its own purpose only."""

    FIRST_START = "first_start"
    RESET = "reset"
    MAILED_RESET = "mailed_reset"  # the same, seen only by who reads the mails to the address
    SECOND_FACTOR = "second_factor"


@dataclass(frozen=True, slots=True)
class SignInOptions:
    """What the console knows before a user has signed in.

    password:    whether people may sign in with a password
    mail:        whether links can be mailed
    providers:   names of identity providers
    capture_url: where SDKs reach the server; "" for the address of the console
    """

    password: bool = True
    mail: bool = False
    providers: tuple[str, ...] = ()
    capture_url: str = ""


DEFAULT_OPTIONS = SignInOptions()


@dataclass(frozen=True, slots=True)
class Device:
    """Where a session was begun, as the list of sessions shows it."""

    address: str
    user_agent: str


def device(address: str, user_agent: str) -> Device:
    shown = "".join(one for one in user_agent[:USER_AGENT_CHARS_MAX] if one.isprintable())
    return Device(address, shown)


@dataclass(frozen=True, slots=True)
class Session:
    """One that was found by its cookie. expires_at: however much it is used"""

    principal: Principal
    last_used_at: datetime
    expires_at: datetime

    def has_ended(self, now: datetime, used_at: datetime | None = None) -> bool:
        """used_at: a use that is not written yet"""
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
    """Digest of what a user may do. A session whose rights differ from its owner's has ended, so
    that a change of level takes a new cookie, on every server."""
    text = ",".join(f"{one}:{levels[one]}" for one in sorted(levels))
    return hashlib.sha256(text.encode()).hexdigest()
