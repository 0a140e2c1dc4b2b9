"""The webhooks of a project over HTTP."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar
from uuid import UUID

from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, RequestBody
from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.errors import Invalid
from fanion.projects.model import FORMER_VALID_S, Level, UserSummary
from fanion.projects.request_api import FormerValidS, ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId
from fanion.rest.pagination import Paged
from fanion.rest.posthog_fields import (
    MAINTAINED_OF_WEBHOOK,
    UNSUPPORTED_OF_WEBHOOK,
)
from fanion.rest.validation import given_fields
from fanion.webhooks.destination import URL_CHARS_MAX, read_target, refusal
from fanion.webhooks.model import EVENT_TYPES, Delivery, EventType, Status, Webhook
from fanion.webhooks.store import WebhookStore

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


class WebhookBody(Struct, kw_only=True):
    id: int
    url: str
    events: list[EventType]
    active: bool
    secret: Annotated[
        str | None,
        Meta(description="Signs the deliveries: `whsec_…`. Only in the response to the creation."),
    ]
    former_secret_valid_until: Annotated[
        datetime | None,
        Meta(description="Until then, deliveries are also signed with the former one."),
    ]
    created_by: UserSummary | None
    created_at: datetime
    updated_at: datetime


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


@dataclass(frozen=True, slots=True)
class Webhooks:
    """The validation of webhooks and their store.

    Attributes:
        allow_private: Whether webhooks may be sent to addresses that are not public.
    """

    store: WebhookStore
    allow_private: bool

    def values(self, data: NewWebhook | WebhookChanges) -> dict[str, Any]:
        """Return the given columns.

        Raises:
            Invalid: The URL cannot be used, or `events` is empty.
        """
        given = given_fields(data)
        if "url" in given:
            self._check(given["url"])
        if "events" in given:
            given["events"] = [kind for kind in EVENT_TYPES if kind in given["events"]]
            if not given["events"]:
                raise Invalid("This list may not be empty.", code="empty", attr="events")
        return given

    def _check(self, url: str) -> None:
        """Raise Invalid for a URL that cannot be used.

        A host name is not resolved here: its addresses are checked whenever something is sent.
        """
        try:
            target = read_target(url)
        except ValueError as error:
            raise Invalid(str(error), attr="url") from None
        kind = refusal(target.host) if target.is_address else None
        if kind is not None and not self.allow_private:
            raise Invalid(f"Webhooks are not sent to {kind}.", attr="url")


class WebhooksApi(Controller):
    """Webhook endpoints, which require administrators.

    A webhook sends what happens in a project elsewhere, and its URL may be a secret of the
    receiver.
    """

    path = "/api/projects/{project_id:str}/webhooks"
    tags = ("Webhooks",)
    opt = scoped("webhook")

    @get("/", summary="List webhooks")
    async def webhooks(
        self, request: ManagementRequest, webhooks: NamedDependency[Webhooks]
    ) -> Paged[WebhookBody]:
        """Return the webhooks of the project, oldest first."""
        _require_administrator(request)
        page = request.page
        rows, count = await webhooks.store.page(request.project.id, page.limit, page.offset)
        now = request.app.state.now()
        return page.with_results([_webhook_body(webhook, now) for webhook in rows], count)

    @post("/", summary="Create a webhook")
    async def create(
        self,
        request: ManagementRequest,
        data: RequestBody[NewWebhook],
        webhooks: NamedDependency[Webhooks],
    ) -> WebhookBody:
        """Create a webhook for all event types, unless `events` selects some.

        `secret` is not shown again. Requests are signed as Standard Webhooks says:
        `webhook-signature` is `v1,` and the base64 of the HMAC-SHA256 over
        `{webhook-id}.{webhook-timestamp}.{body}`, whose key is the base64 after `whsec_`.
        """
        _require_administrator(request)
        values = {"events": list(EVENT_TYPES), **webhooks.values(data)}
        author = request.author
        webhook, secret = await webhooks.store.create_webhook(author, values)
        return _webhook_body(webhook, author.now, secret)

    @get("/{webhook_id:str}", summary="Retrieve a webhook")
    async def webhook(
        self,
        request: ManagementRequest,
        webhook_id: FromPath[ObjectId],
        webhooks: NamedDependency[Webhooks],
    ) -> WebhookBody:
        _require_administrator(request)
        webhook = await webhooks.store.get_webhook(request.project.id, webhook_id)
        return _webhook_body(webhook, request.app.state.now())

    @patch("/{webhook_id:str}", summary="Update a webhook")
    async def change(
        self,
        request: ManagementRequest,
        webhook_id: FromPath[ObjectId],
        data: RequestBody[WebhookChanges],
        webhooks: NamedDependency[Webhooks],
    ) -> WebhookBody:
        """Update the given fields. With `active: false`, pending deliveries are dropped."""
        _require_administrator(request)
        values, author = webhooks.values(data), request.author
        changed = await webhooks.store.change_webhook(author, webhook_id, values)
        return _webhook_body(changed, author.now)

    @post(
        "/{webhook_id:str}/rotate_secret",
        status_code=200,
        summary="Rotate the secret of a webhook",
    )
    async def rotate_secret(
        self,
        request: ManagementRequest,
        webhook_id: FromPath[ObjectId],
        data: RequestBody[SecretRotation],
        webhooks: NamedDependency[Webhooks],
    ) -> WebhookBody:
        """Replace the secret. The new `secret` is not shown again.

        For a day, or for `former_valid_s`, `webhook-signature` has a signature for each secret,
        separated by a space.
        """
        _require_administrator(request)
        author, valid_s = request.author, data.former_valid_s
        changed, secret = await webhooks.store.rotate_secret(author, webhook_id, valid_s)
        return _webhook_body(changed, author.now, secret)

    @delete("/{webhook_id:str}", summary="Delete a webhook")
    async def remove(
        self,
        request: ManagementRequest,
        webhook_id: FromPath[ObjectId],
        webhooks: NamedDependency[Webhooks],
    ) -> None:
        """Delete the webhook with its deliveries. Pending deliveries are not sent."""
        _require_administrator(request)
        await webhooks.store.remove_webhook(request.author, webhook_id)

    @get("/{webhook_id:str}/deliveries", summary="List the deliveries of a webhook")
    async def deliveries(
        self,
        request: ManagementRequest,
        webhook_id: FromPath[ObjectId],
        webhooks: NamedDependency[Webhooks],
    ) -> Paged[DeliveryBody]:
        """Return the deliveries, newest first. Of finished deliveries, the last 200 are kept."""
        _require_administrator(request)
        page, project_id = request.page, request.project.id
        rows, count = await webhooks.store.deliveries(
            project_id, webhook_id, page.limit, page.offset
        )
        return page.with_results([_delivery_body(delivery) for delivery in rows], count)


def _require_administrator(request: ManagementRequest) -> None:
    request.principal.require_level(request.project.organization_id, Level.ADMIN)


def _webhook_body(webhook: Webhook, now: datetime, secret: str | None = None) -> WebhookBody:
    return WebhookBody(
        id=webhook.id,
        url=webhook.url,
        events=list(webhook.events),
        active=webhook.active,
        secret=secret,
        former_secret_valid_until=max(
            (until for until in webhook.former_until if until > now), default=None
        ),
        created_by=webhook.created_by,
        created_at=webhook.created_at,
        updated_at=webhook.updated_at,
    )


def _delivery_body(delivery: Delivery) -> DeliveryBody:
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
