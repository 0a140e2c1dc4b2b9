"""Organizations, projects and users."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Any
from uuid import UUID

from msgspec import Struct

EMAIL_CHARS_MAX = 254  # RFC 5321 section 4.5.3.1.3, without the angle brackets
FIRST_NAME_CHARS_MAX = 150  # as in PostHog
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")


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
        activity_kept_days: How long entries of the activity log are kept; None for ever.
    """

    id: UUID
    name: str
    enforce_2fa: bool = False
    activity_kept_days: int | None = None


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
        primary_dashboard: The dashboard on the home page; it may have been deleted since.
        events_kept_days: None for ever.
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
    primary_dashboard: int | None = None
    events_kept_days: int | None = None

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
