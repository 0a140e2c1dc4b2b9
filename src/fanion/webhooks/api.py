"""The webhooks of a project over HTTP."""

from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, RequestBody

from fanion.projects.model import Level
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId
from fanion.rest.pagination import Paged
from fanion.rest.validation import given_fields
from fanion.webhooks.schemas import (
    DeliveryBody,
    NewWebhook,
    SecretRotation,
    WebhookBody,
    WebhookChanges,
    delivery_body,
    webhook_body,
)
from fanion.webhooks.service import WebhookService


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
        self, request: ManagementRequest, webhooks: NamedDependency[WebhookService]
    ) -> Paged[WebhookBody]:
        """Return the webhooks of the project, oldest first."""
        _require_administrator(request)
        page = request.page
        rows, count = await webhooks.store.page(request.project.id, page.limit, page.offset)
        now = request.app.state.now()
        return page.with_results([webhook_body(webhook, now) for webhook in rows], count)

    @post("/", summary="Create a webhook")
    async def create(
        self,
        request: ManagementRequest,
        data: RequestBody[NewWebhook],
        webhooks: NamedDependency[WebhookService],
    ) -> WebhookBody:
        """Create a webhook for all event types, unless `events` selects some.

        `secret` is not shown again. Requests are signed as Standard Webhooks says:
        `webhook-signature` is `v1,` and the base64 of the HMAC-SHA256 over
        `{webhook-id}.{webhook-timestamp}.{body}`, whose key is the base64 after `whsec_`.
        """
        _require_administrator(request)
        author = request.author
        webhook, secret = await webhooks.create_webhook(author, given_fields(data))
        return webhook_body(webhook, author.now, secret)

    @get("/{webhook_id:str}", summary="Retrieve a webhook")
    async def webhook(
        self,
        request: ManagementRequest,
        webhook_id: FromPath[ObjectId],
        webhooks: NamedDependency[WebhookService],
    ) -> WebhookBody:
        _require_administrator(request)
        webhook = await webhooks.store.get_webhook(request.project.id, webhook_id)
        return webhook_body(webhook, request.app.state.now())

    @patch("/{webhook_id:str}", summary="Update a webhook")
    async def change(
        self,
        request: ManagementRequest,
        webhook_id: FromPath[ObjectId],
        data: RequestBody[WebhookChanges],
        webhooks: NamedDependency[WebhookService],
    ) -> WebhookBody:
        """Update the given fields. With `active: false`, pending deliveries are dropped."""
        _require_administrator(request)
        author = request.author
        changed = await webhooks.change_webhook(author, webhook_id, given_fields(data))
        return webhook_body(changed, author.now)

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
        webhooks: NamedDependency[WebhookService],
    ) -> WebhookBody:
        """Replace the secret. The new `secret` is not shown again.

        For a day, or for `former_valid_s`, `webhook-signature` has a signature for each secret,
        separated by a space.
        """
        _require_administrator(request)
        author, valid_s = request.author, data.former_valid_s
        changed, secret = await webhooks.rotate_secret(author, webhook_id, valid_s)
        return webhook_body(changed, author.now, secret)

    @delete("/{webhook_id:str}", summary="Delete a webhook")
    async def remove(
        self,
        request: ManagementRequest,
        webhook_id: FromPath[ObjectId],
        webhooks: NamedDependency[WebhookService],
    ) -> None:
        """Delete the webhook with its deliveries. Pending deliveries are not sent."""
        _require_administrator(request)
        await webhooks.remove_webhook(request.author, webhook_id)

    @get("/{webhook_id:str}/deliveries", summary="List the deliveries of a webhook")
    async def deliveries(
        self,
        request: ManagementRequest,
        webhook_id: FromPath[ObjectId],
        webhooks: NamedDependency[WebhookService],
    ) -> Paged[DeliveryBody]:
        """Return the deliveries, newest first. Of finished deliveries, the last 200 are kept."""
        _require_administrator(request)
        page, project_id = request.page, request.project.id
        rows, count = await webhooks.store.deliveries(
            project_id, webhook_id, page.limit, page.offset
        )
        return page.with_results([delivery_body(delivery) for delivery in rows], count)


def _require_administrator(request: ManagementRequest) -> None:
    request.principal.require_level(request.project.organization_id, Level.ADMIN)
