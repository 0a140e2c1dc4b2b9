"""Webhooks, their events and deliveries: stored records, bodies and signatures.

The body has the shape that Standard Webhooks recommends: `type`, `timestamp` and `data`.
"""

import hmac
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, get_args
from uuid import UUID

import msgspec
from msgspec import Struct

from fanion.activity.model import ActivityRecord, Trigger
from fanion.projects.model import UserSummary

EventType = Literal[
    "feature_flag.created",
    "feature_flag.updated",
    "feature_flag.deleted",
    "feature_flag.rolled_back",
    "cohort.created",
    "cohort.updated",
    "cohort.deleted",
    "event.captured",
    "insight.alert",
    "experiment.verdict",
]
EVENT_TYPES: tuple[EventType, ...] = get_args(EventType)
Status = Literal["pending", "delivered", "failed"]

# Delays after the first failure, the second, and so on. After the last one a delivery fails for
# good, a day after the change that it reports. As documented, they grow faster than by `backoff_s`.
WAITS_S = (10, 60, 300, 1_800, 7_200, 21_600, 54_000)
ATTEMPTS_MAX = len(WAITS_S) + 1


@dataclass(frozen=True, slots=True)
class FormerSecret:
    """A replaced secret, which signs in addition to the current one until `valid_until`."""

    secret: str
    valid_until: datetime


class WebhookRecord(Struct, frozen=True, kw_only=True):
    """A webhook as it is stored and returned, without its secrets."""

    id: int
    url: str
    events: list[EventType]
    active: bool
    created_by: UserSummary | None
    created_at: datetime
    updated_at: datetime


class Webhook(WebhookRecord, frozen=True, kw_only=True):
    """A receiver of the events of one project.

    Attributes:
        former_until: Expiry times of the former secrets, expired ones included.
    """

    project_id: int
    former_until: Sequence[datetime] = ()


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event for one webhook, and the state of its attempts.

    Attributes:
        error: The error of the last attempt.
        due_at: The time of the next attempt; None if there is none.
    """

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
    """The outcome of one attempt.

    Attributes:
        response_code: None if there was no response.
        error: A readable reason; None on success.
        is_final: Whether another attempt cannot succeed.
    """

    response_code: int | None = None
    error: str | None = None
    is_final: bool = False


def read_former(stored: Sequence[Mapping[str, str]] | None) -> list[FormerSecret]:
    """Parse stored former secrets.

    Args:
        stored: As encoded by `write_former`; None if there are none.
    """
    return [
        FormerSecret(secret["secret"], datetime.fromisoformat(secret["valid_until"]))
        for secret in stored or ()
    ]


def write_former(former: Sequence[FormerSecret]) -> list[dict[str, str]]:
    return [
        {"secret": secret.secret, "valid_until": secret.valid_until.isoformat()}
        for secret in former
    ]


def wait_after(attempts: int, outcome: DeliveryOutcome) -> timedelta | None:
    """Return the delay before the next attempt, or None if there is no next attempt.

    Args:
        attempts: The number of attempts made so far.
    """
    if outcome.is_final or attempts > len(WAITS_S):
        return None
    return timedelta(seconds=WAITS_S[attempts - 1])


# The changes are left out of a larger body: the receiver can request them.
BODY_BYTES_MAX = 64 * 1024

_OBJECTS = {"FeatureFlag": "feature_flag", "Cohort": "cohort"}
_encode = msgspec.json.Encoder().encode


def event_type_of(entry: ActivityRecord) -> EventType | None:
    """Return the event type of a change, or None for a change that no webhook reports."""
    name_of_scope = _OBJECTS.get(entry.scope)
    if name_of_scope is None:
        return None
    for name in EVENT_TYPES:
        if name == f"{name_of_scope}.{_event_verb(entry)}":
            return name
    return None


def _event_verb(entry: ActivityRecord) -> str:
    trigger = entry.author.trigger
    if trigger is not None and _is_rollback(trigger):
        return "rolled_back"
    is_deleted = any(
        change.field == "deleted" and change.after is True for change in entry.changes or ()
    )
    return "deleted" if is_deleted else entry.activity


def _is_rollback(trigger: Trigger) -> bool:
    if trigger.job_type == "guarded_release":
        return bool(trigger.payload["state"] == "rolled_back")
    return trigger.job_type == "auto_rollback"


def change_body(kind: EventType, entry: ActivityRecord, user: Mapping[str, str] | None) -> bytes:
    """Build the body of an event about a change.

    Args:
        user: First name and e-mail address of the author; None for a change by the server.
    """
    author = entry.author
    data: dict[str, Any] = {
        "project_id": author.project_id,
        "item_id": entry.item_id,
        "name": entry.name,
        "user": user,
        "changes": entry.changes,
        "trigger": author.trigger,
        "truncated": False,
    }
    body = _message(kind, author.now, data)
    if len(body) <= BODY_BYTES_MAX:
        return body
    return _message(kind, author.now, data | {"changes": None, "trigger": None, "truncated": True})


def captured_body(
    project_id: int, definition_id: UUID, name: str, count: int, span: tuple[datetime, datetime]
) -> bytes:
    """Build the body of an `event.captured` message.

    Args:
        count: The number of stored events of the definition.
        span: The times of the first and the last of these events.
    """
    since, until = span
    data = {
        "project_id": project_id,
        "event_definition": {"id": definition_id, "name": name},
        "count": count,
        "since": since,
        "until": until,
    }
    return _message("event.captured", until, data)


def alert_body(alert: Mapping[str, Any], now: datetime) -> bytes:
    """Build the body of an `insight.alert` message.

    Args:
        alert: The data of the message, with the alert's state and the number it measured.
    """
    return _message("insight.alert", now, alert)


def verdict_body(change: Mapping[str, Any], now: datetime) -> bytes:
    """Build the body of an `experiment.verdict` message.

    Args:
        change: The data of the message, with the experiment and its verdict.
    """
    return _message("experiment.verdict", now, change)


def _message(kind: EventType, timestamp: datetime, data: Mapping[str, Any]) -> bytes:
    return _encode({"type": kind, "timestamp": timestamp, "data": data})


SECRET_PREFIX = "whsec_"
SECRET_BYTES = 32


def secret_text(random: bytes) -> str:
    """Encode a new secret with its prefix.

    Args:
        random: SECRET_BYTES random bytes.
    """
    return SECRET_PREFIX + b64encode(random).decode()


def signed_headers(
    secrets: Sequence[str], message_id: str, now: datetime, body: bytes
) -> dict[str, str]:
    """Return the headers that identify and sign an attempt to send a message.

    All attempts for a message have the same id, each with its own time.

    Args:
        secrets: The valid secrets, the current one first.
    """
    timestamp = str(int(now.timestamp()))
    signatures = [_signature(secret, message_id, timestamp, body) for secret in secrets]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(signatures),
    }


def is_signed(secret: str, headers: Mapping[str, str], body: bytes) -> bool:
    """Return whether one of the signatures in the headers is valid for `secret`.

    A receiver verifies a message like this, and also checks that the time is recent.
    """
    expected = _signature(secret, headers["webhook-id"], headers["webhook-timestamp"], body)
    signatures = headers["webhook-signature"].split(" ")
    return any(hmac.compare_digest(expected, signature) for signature in signatures)


def _signature(secret: str, message_id: str, timestamp: str, body: bytes) -> str:
    key = b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = b".".join((message_id.encode(), timestamp.encode(), body))
    return "v1," + b64encode(hmac.digest(key, signed, "sha256")).decode()
