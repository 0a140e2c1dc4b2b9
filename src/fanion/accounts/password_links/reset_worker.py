"""Requests for a new password, and the background worker that mails the links.

A request is answered before anything is looked up, so that neither the response nor its time
reveals whether an account exists.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Never

from sqlalchemy import Connection

from fanion.accounts.client_limits_cache import Rate, RateLimit, client_rates, take_tokens
from fanion.accounts.links_store import create_link
from fanion.accounts.mail.message import is_sendable, reset_mail
from fanion.accounts.model import Purpose
from fanion.accounts.own_account.service import PutMail
from fanion.accounts.password_links.store import MAILED_LASTS, link_address
from fanion.accounts.security_events_store import SecurityEvent, record_security_event
from fanion.accounts.users_store import Account, AccountStore
from fanion.db.engine import Records, RecordsUnavailable
from fanion.errors import Invalid, Unavailable
from fanion.runtime.background import run_loop
from fanion.server.forwarded import Client

# Requests of each client's address, and of all clients that one untrusted peer claims to forward.
ADDRESS, PEER = Rate(burst=10, per_s=1 / 60), Rate(burst=100, per_s=1 / 6)
# Requests for one account, or for an e-mail address that no account has.
ACCOUNT = Rate(burst=3, per_s=1 / 1200)
COUNTED_MAX = 20_000  # addresses, and as many accounts, counted at a time: 10 MB
REQUESTS_WAITING_MAX = 1_000
POLL_S = 5.0


@dataclass(frozen=True, slots=True)
class _Request:
    email: str
    client: Client
    asked_at: datetime


class PasswordResets:
    """A queue of requests and the task that works through it.

    Args:
        put_mail: Queues a mail; None if no mail server is set.
        base_url: The configured URL of this server. It never comes from a request, whose client
            could choose it.
        now: Returns the time of day.
        clock: Monotonic clock, in seconds.
    """

    def __init__(
        self,
        records: Records,
        put_mail: PutMail | None,
        base_url: str,
        now: Callable[[], datetime],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._records = records
        self._accounts = AccountStore(records)
        self._put_mail = put_mail
        self._base_url = base_url
        self._now = now
        self._by_address = RateLimit(COUNTED_MAX, clock)
        self._by_account = RateLimit(COUNTED_MAX, clock)
        self._waiting: deque[_Request] = deque()
        self._added = asyncio.Event()

    def ask(self, email: str, client: Client) -> None:
        """Queue a request.

        Args:
            email: Normalised by `read_email`.

        Raises:
            Invalid: This server cannot send mail.
            Throttled: There were too many requests of the client or for the address.
            Unavailable: The queue is full.
        """
        if self._put_mail is None:
            raise Invalid(
                "This server sends no mail. Ask its operator for a link: `fanion users reset`.",
                code="email_not_available",
            )
        if len(self._waiting) >= REQUESTS_WAITING_MAX:
            raise Unavailable("Too many requests for new passwords are queued. Please retry.")
        self._count_request(email, client)
        self._waiting.append(_Request(email, client, self._now()))
        self._added.set()

    async def run(self) -> Never:
        await run_loop(
            self.work_once, POLL_S, "resets_wait", (RecordsUnavailable,), wake=self._added
        )

    async def work_once(self) -> bool:
        """Work on the oldest request, and return whether more are queued.

        Raises:
            RecordsUnavailable: The records store does not answer. The request stays queued.
        """
        if not self._waiting:
            return False
        request = self._waiting.popleft()
        try:
            account = await self._accounts.by_email(request.email)
            if account is not None and is_sendable(account.email):
                await self._send_link(account, request)
        except RecordsUnavailable:
            self._waiting.appendleft(request)
            raise
        return bool(self._waiting)

    async def _send_link(self, account: Account, request: _Request) -> None:
        assert self._put_mail is not None
        event = SecurityEvent(
            activity="password_reset_requested",
            user_id=account.user_id,
            by_user=None,
            now=request.asked_at,
            details={"method": "mail", "address": request.client.address},
        )

        def create(connection: Connection) -> str:
            record_security_event(connection, event)
            user_id, now = account.user_id, self._now()
            return create_link(connection, Purpose.MAILED_RESET, user_id, now, MAILED_LASTS)

        async with self._records.write() as connection:
            token = await connection.run_sync(create)
        link = link_address(self._base_url, Purpose.MAILED_RESET, token)
        self._put_mail(reset_mail(account.email, link, MAILED_LASTS))

    def _count_request(self, email: str, client: Client) -> None:
        """Count the request, or raise Throttled and count nothing."""
        by_address = self._by_address.require_room(client_rates(client, ADDRESS, PEER))
        # Checked second: a client that is refused must not push other accounts out of memory.
        by_account = self._by_account.require_room([(email, ACCOUNT)])
        take_tokens([*by_address, *by_account])
