"""Webhooks and their deliveries as they are stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from fanion.projects.model import UserSummary
from fanion.webhooks.payloads import EventType

Status = Literal["pending", "delivered", "failed"]

# After the first failure, the second, and so on; then a delivery is given up, a day after the
# change that it reports.
WAITS_S = (10, 60, 300, 1_800, 7_200, 21_600, 54_000)
ATTEMPTS_MAX = len(WAITS_S) + 1


@dataclass(frozen=True, slots=True)
class FormerSecret:
    """A replaced secret, which signs in addition to the present one until `valid_until`."""

    secret: str
    valid_until: datetime


@dataclass(frozen=True, slots=True)
class Webhook:
    """former_until: until when each of its former secrets signs, ended ones too"""

    id: int
    project_id: int
    url: str
    events: Sequence[EventType]
    active: bool
    created_at: datetime
    updated_at: datetime
    created_by: UserSummary | None
    former_until: Sequence[datetime] = ()


@dataclass(frozen=True, slots=True)
class Delivery:
    """due_at: of the next attempt, None when there is none; error: of the last attempt"""

    id: UUID
    event: str
    status: Status
    attempts: int
    response_code: int | None
    error: str | None
    created_at: datetime
    due_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class DeliveryOutcome:
    """What came of an attempt. response_code: None without an answer

    error: None on success; a readable reason otherwise
    is_final: another attempt would end the same way
    """

    response_code: int | None = None
    error: str | None = None
    is_final: bool = False


def read_former(stored: Sequence[Mapping[str, str]] | None) -> list[FormerSecret]:
    """stored: as `written_former` writes it; None for nothing"""
    return [
        FormerSecret(one["secret"], datetime.fromisoformat(one["valid_until"]))
        for one in stored or ()
    ]


def written_former(former: Sequence[FormerSecret]) -> list[dict[str, str]]:
    return [{"secret": one.secret, "valid_until": one.valid_until.isoformat()} for one in former]


def wait_after(attempts: int, outcome: DeliveryOutcome) -> timedelta | None:
    """How long to wait for the next attempt; None to give up. attempts: how many there were"""
    if outcome.is_final or attempts > len(WAITS_S):
        return None
    return timedelta(seconds=WAITS_S[attempts - 1])
