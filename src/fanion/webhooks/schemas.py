"""Request and response bodies of the webhook endpoints."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.projects.model import FORMER_VALID_S
from fanion.projects.request_api import FormerValidS
from fanion.rest.posthog_fields import (
    MAINTAINED_OF_WEBHOOK,
    UNSUPPORTED_OF_WEBHOOK,
)
from fanion.rest.validation import shared_fields
from fanion.webhooks.destination import URL_CHARS_MAX
from fanion.webhooks.model import Delivery, EventType, Status, Webhook, WebhookRecord

Url = Annotated[
    str, Meta(min_length=1, max_length=URL_CHARS_MAX, description="`https://` or `http://`.")
]
Events = Annotated[list[EventType], Meta(description="Types of events to send; at least one.")]


class NewWebhook(Struct, kw_only=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_WEBHOOK
    unsupported: ClassVar[Mapping[str, str]] = UNSUPPORTED_OF_WEBHOOK

    url: Url
    events: Events | UnsetType = UNSET
    active: bool = True


class WebhookChanges(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_WEBHOOK
    unsupported: ClassVar[Mapping[str, str]] = UNSUPPORTED_OF_WEBHOOK

    url: Url | UnsetType = UNSET
    events: Events | UnsetType = UNSET
    active: bool | UnsetType = UNSET


class WebhookBody(WebhookRecord, frozen=True, kw_only=True):
    secret: Annotated[
        str | None,
        Meta(description="Signs the deliveries: `whsec_…`. Only in the response to the creation."),
    ]
    former_secret_valid_until: Annotated[
        datetime | None,
        Meta(description="Until then, deliveries are also signed with the former one."),
    ]


class SecretRotation(Struct, kw_only=True, forbid_unknown_fields=True):
    former_valid_s: FormerValidS = FORMER_VALID_S


class DeliveryBody(Struct, kw_only=True):
    id: Annotated[UUID, Meta(description="The header `webhook-id` of every attempt.")]
    event: str
    status: Status
    attempts: int
    response_code: Annotated[int | None, Meta(description="Status of the last attempt.")]
    error: Annotated[str | None, Meta(description="Why the last attempt did not succeed.")]
    created_at: datetime
    next_attempt_at: datetime | None
    finished_at: datetime | None


def webhook_body(webhook: Webhook, now: datetime, secret: str | None = None) -> WebhookBody:
    valid = [until for until in webhook.former_until if until > now]
    return WebhookBody(
        secret=secret,
        former_secret_valid_until=max(valid, default=None),
        **shared_fields(webhook, WebhookRecord),
    )


def delivery_body(delivery: Delivery) -> DeliveryBody:
    return DeliveryBody(
        id=delivery.id,
        event=delivery.event,
        status=delivery.status,
        attempts=delivery.attempts,
        response_code=delivery.response_code,
        error=delivery.error,
        created_at=delivery.created_at,
        next_attempt_at=delivery.due_at,
        finished_at=delivery.finished_at,
    )
