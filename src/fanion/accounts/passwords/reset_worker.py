"""Requests for a new password: answered before anything is looked up, so that neither the answer
nor its time says whether an account exists; the mail follows in the background."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Never

from sqlalchemy import Connection

from fanion.accounts.links_store import create_link
from fanion.accounts.mail.message import is_sendable, reset_mail
from fanion.accounts.model import Purpose
from fanion.accounts.own_account.service import PutMail
from fanion.accounts.passwords.links_store import MAILED_LASTS, link_address
from fanion.accounts.security_events_store import SecurityEvent, record_security_event
from fanion.accounts.users_store import Account, AccountStore
from fanion.db.engine import Records, RecordsUnavailable
from fanion.errors import Invalid, Throttled, Unavailable
from fanion.runtime.background import run_loop
from fanion.runtime.token_bucket import TokenBucket, TokenBuckets
from fanion.server.forwarded import Client, network_of

# Requests of each client's address: at once, and a second after that.
ADDRESS_BURST, ADDRESS_PER_S = 10, 1 / 60
# The same for all clients together that one untrusted peer claims to forward.
PEER_BURST, PEER_PER_S = 100, 1 / 6
# The same for one account, or an e-mail address that is none's.
ACCOUNT_BURST, ACCOUNT_PER_S = 3, 1 / 1200
COUNTED_MAX = 20_000  # addresses, and accounts, at a time: 10 MB
REQUESTS_WAITING_MAX = 1_000
POLL_S = 5.0


@dataclass(frozen=True, slots=True)
class _Request:
    email: str
    client: Client
    asked_at: datetime


class PasswordResets:
    """put_mail: None where no mail server is set
    base_url: of this server; never what a request says, which the client chooses
    now:      the time of day; clock: seconds that only go forward
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
        self._clock = clock
        self._by_address: TokenBuckets[str] = TokenBuckets(COUNTED_MAX)
        self._by_account: TokenBuckets[str] = TokenBuckets(COUNTED_MAX)
        self._waiting: deque[_Request] = deque()
        self._added = asyncio.Event()

    def ask(self, email: str, client: Client) -> None:
        """email: as of `read_email`

        raises: Invalid where no mail can be sent; Throttled; Unavailable
        """
        if self._put_mail is None:
            raise Invalid(
                "This server sends no mail. Ask its operator for a link: `fanion users reset`.",
                code="email_not_available",
            )
        if len(self._waiting) >= REQUESTS_WAITING_MAX:
            raise Unavailable("Too many requests for new passwords wait. Please retry.")
        self._count(email, client)
        self._waiting.append(_Request(email, client, self._now()))
        self._added.set()

    async def run(self) -> Never:
        await run_loop(
            self.work_once, POLL_S, "resets_wait", (RecordsUnavailable,), wake=self._added
        )

    async def work_once(self) -> bool:
        """Whether more requests wait. raises: RecordsUnavailable; the request then waits on"""
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
            return create_link(connection, Purpose.RESET, user_id, now, MAILED_LASTS)

        async with self._records.write() as connection:
            token = await connection.run_sync(create)
        link = link_address(self._base_url, Purpose.RESET, token)
        self._put_mail(reset_mail(account.email, link, MAILED_LASTS))

    def _count(self, email: str, client: Client) -> None:
        """raises: Throttled, and then counts nothing"""
        limits = [
            _Limit(self._by_address.of(key), per_s, burst) for key, per_s, burst in _limits(client)
        ]
        self._require_room(limits)
        # Only now: who is refused must not push other accounts out of the memory.
        limits.append(_Limit(self._by_account.of(email), ACCOUNT_PER_S, ACCOUNT_BURST))
        self._require_room(limits)
        for limit in limits:
            limit.bucket.level -= 1

    def _require_room(self, limits: Sequence["_Limit"]) -> None:
        now = self._clock()
        waits_s = [limit.bucket.wait_s(limit.per_s, limit.burst, now) for limit in limits]
        if any(waits_s):
            raise Throttled(ceil(max(waits_s)))


@dataclass(frozen=True, slots=True)
class _Limit:
    bucket: TokenBucket
    per_s: float
    burst: int


def _limits(client: Client) -> list[tuple[str, float, int]]:
    """Key, rate and burst of each limit by address; none where clients cannot be told apart."""
    if not client.address:
        return []
    peer = network_of(client.address)
    if not client.claimed:
        return [(peer, ADDRESS_PER_S, ADDRESS_BURST)]
    claimed = f"{peer} {network_of(client.claimed)}"
    return [(claimed, ADDRESS_PER_S, ADDRESS_BURST), (f"{peer} *", PEER_PER_S, PEER_BURST)]
