"""Changes of webhooks by requests, each in one transaction."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection

from fanion.activity.model import Author
from fanion.errors import Invalid
from fanion.projects.model import FORMER_KEYS_MAX
from fanion.projects.store import too_many_former
from fanion.webhooks.destination import read_target, refusal
from fanion.webhooks.model import (
    EVENT_TYPES,
    SECRET_BYTES,
    FormerSecret,
    Webhook,
    secret_text,
)
from fanion.webhooks.store import (
    WebhookStore,
    change_webhook,
    create_webhook,
    lock_webhook,
    read_secrets,
    remove_webhook,
    write_secret,
)


@dataclass(frozen=True, slots=True)
class WebhookService:
    """The changes of webhooks.

    Attributes:
        allow_private: Whether webhooks may be sent to addresses that are not public.
    """

    store: WebhookStore
    allow_private: bool

    async def create_webhook(self, author: Author, sent: Mapping[str, Any]) -> tuple[Webhook, str]:
        """Create a webhook with a new secret, which cannot be read later.

        Returns:
            The webhook and its secret.

        Raises:
            Invalid: The URL cannot be used, `events` is empty, or the project has too many
                webhooks.
        """
        secret = secret_text(secrets.token_bytes(SECRET_BYTES))
        values = {"events": list(EVENT_TYPES), **self._checked(sent), "secret": secret}
        async with self.store.records.write() as connection:
            return await connection.run_sync(create_webhook, author, values), secret

    async def change_webhook(
        self, author: Author, webhook_id: int, sent: Mapping[str, Any]
    ) -> Webhook:
        """Change the given fields. Pending deliveries fail if `active` is set to False.

        Raises:
            NotFound: There is no such webhook.
            Invalid: The URL cannot be used, or `events` is empty.
        """
        values = self._checked(sent)
        async with self.store.records.write() as connection:
            return await connection.run_sync(change_webhook, author, webhook_id, values)

    async def rotate_secret(
        self, author: Author, webhook_id: int, former_valid_s: int
    ) -> tuple[Webhook, str]:
        """Replace the secret by a new one, which cannot be read later.

        Args:
            former_valid_s: How long the current secret signs as well. With 0, it and all former
                secrets expire at once.

        Returns:
            The webhook and its new secret.

        Raises:
            NotFound: There is no such webhook.
            Invalid: FORMER_KEYS_MAX former secrets are still valid.
        """
        secret = secret_text(secrets.token_bytes(SECRET_BYTES))
        async with self.store.records.write() as connection:
            rotated = await connection.run_sync(
                _rotate_secret, author, webhook_id, secret, former_valid_s
            )
        return rotated, secret

    async def remove_webhook(self, author: Author, webhook_id: int) -> None:
        """Delete a webhook with its deliveries, or raise NotFound."""
        async with self.store.records.write() as connection:
            await connection.run_sync(remove_webhook, author, webhook_id)

    def _checked(self, sent: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns that a request sets.

        Raises:
            Invalid: The URL cannot be used, or `events` is empty.
        """
        values = dict(sent)
        if "url" in values:
            self._check_url(values["url"])
        if "events" in values:
            values["events"] = [kind for kind in EVENT_TYPES if kind in values["events"]]
            if not values["events"]:
                raise Invalid("This list may not be empty.", code="empty", attr="events")
        return values

    def _check_url(self, url: str) -> None:
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


def _rotate_secret(
    connection: Connection, author: Author, webhook_id: int, secret: str, former_valid_s: int
) -> Webhook:
    before = lock_webhook(connection, author.project_id, webhook_id)
    present, former = read_secrets(connection, before)
    kept: Sequence[FormerSecret] = ()
    if former_valid_s:
        valid = [
            former_secret for former_secret in former if former_secret.valid_until > author.now
        ]
        if len(valid) >= FORMER_KEYS_MAX:
            raise too_many_former()
        until = author.now + timedelta(seconds=former_valid_s)
        kept = [*valid, FormerSecret(present, until)]
    return write_secret(connection, author, before, secret, present, kept)
