"""Builds what webhooks are managed with, and what sends to them."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from fanion.config import Settings
from fanion.db.engine import Records
from fanion.observability.metrics import Metrics
from fanion.webhooks.api import Webhooks, WebhooksApi
from fanion.webhooks.lookup import Resolver
from fanion.webhooks.sender import Sender
from fanion.webhooks.store import WebhookStore
from fanion.webhooks.worker import Deliverer

WEBHOOK_CONTROLLERS = (WebhooksApi,)


@dataclass(frozen=True, slots=True)
class WebhookParts:
    webhooks: Webhooks
    deliverer: Deliverer


def build_webhook_parts(
    settings: Settings, records: Records, metrics: Metrics, now: Callable[[], datetime]
) -> WebhookParts:
    allow_private = settings.webhooks_allow_private
    sender = Sender(Resolver(), allow_private=allow_private)
    return WebhookParts(
        Webhooks(WebhookStore(records), allow_private), Deliverer(records, sender, metrics, now)
    )
