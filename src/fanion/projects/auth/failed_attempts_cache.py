"""Failed authentication attempts: logged, counted, and rate limited for each client.

Each unknown key costs a read of the records store. A client above the limit is refused without
a read, except for keys that were valid recently, so that users who share an address with an
attacker are not locked out.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from math import ceil
from typing import Literal

import structlog
from cachetools import TTLCache

from fanion.errors import Throttled
from fanion.projects.auth.keys import hash_key, kind_of, prefix_of
from fanion.projects.auth.model import Principal
from fanion.server.forwarded import Caller, Client, TrustedProxies, network_of

Kind = Literal["project", "personal", "secret", "session", "link"]
Reason = Literal["unknown", "expired", "denied", "throttled"]

# Reads for unknown keys of one address within a window. A key is read once in two seconds, so this
# allows ten wrong keys in constant use.
FAILURES_MAX = 300
# The limit of all clients together that one untrusted peer claims to forward. Clients of a real
# proxy stay within their own limit; invented addresses count against this one.
PEER_FAILURES_MAX = 3_000
WINDOW_S = 60.0
ADDRESSES_MAX = 20_000  # addresses counted at a time: 5 MB
# After a successful look-up a key is exempt from the limit of its address for this long.
VALID_S = 24 * 3600.0
VALID_KEYS_MAX = 30_000  # 6 MB


class FailureLimit:
    """Counters of failures by client.

    Args:
        clock: Monotonic clock, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # (End of the window, failures) by client; the least recently used are dropped first.
        self._counters: OrderedDict[tuple[str, str], tuple[float, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._counters)

    def wait_s(self, client: Client) -> int:
        """Return the delay until a key may be looked up; 0 for none."""
        now, wait = self._clock(), 0.0
        for key, failures_max in _counter_keys(client):
            until, failures = self._counters.get(key, (now, 0))
            if failures >= failures_max:
                wait = max(wait, until - now)
        return ceil(wait)

    def add(self, client: Client) -> bool:
        """Count a failure, and return whether it was the last one that the window allows."""
        now, is_last = self._clock(), False
        for key, failures_max in _counter_keys(client):
            until, failures = self._counters.get(key, (0.0, 0))
            if until <= now:
                until, failures = now + WINDOW_S, 0
            self._counters[key] = until, failures + 1
            self._counters.move_to_end(key)
            is_last = is_last or failures + 1 == failures_max
        while len(self._counters) > ADDRESSES_MAX:
            self._counters.popitem(last=False)
        return is_last


def _counter_keys(client: Client) -> list[tuple[tuple[str, str], int]]:
    """Return the keys of a client's counters, with the limit of each."""
    if not client.address:
        return []  # clients cannot be distinguished there
    address = network_of(client.address)
    if not client.claimed:
        return [((address, ""), FAILURES_MAX)]
    claimed = network_of(client.claimed)
    return [((address, claimed), FAILURES_MAX), ((address, "*"), PEER_FAILURES_MAX)]


def uncounted(kind: str, reason: str) -> None:
    pass


class FailedAttempts:
    """The failures of all clients, with their limits, log lines and metrics.

    Args:
        count: Called with the kind of the key and the reason of each failure.
    """

    def __init__(
        self,
        proxies: TrustedProxies | None = None,
        clock: Callable[[], float] = time.monotonic,
        count: Callable[[str, str], None] = uncounted,
    ) -> None:
        self._proxies = proxies or TrustedProxies()
        self._limit = FailureLimit(clock)
        self._valid: TTLCache[str, bool] = TTLCache(VALID_KEYS_MAX, VALID_S, clock)
        self._count = count
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

    def require_room(self, key: str, caller: Caller | None, kind: Kind | None = None) -> None:
        """Raise Throttled if the client has no reads left, before a key is read from the store.

        Args:
            caller: None for a client without a limit.
            kind: The kind of the key; derived from its prefix if not given.
        """
        if caller is None or self._valid.get(hash_key(key)):
            return
        wait_s = self._limit.wait_s(self._proxies.client(caller))
        if wait_s:
            self._count(kind or kind_of(key), "throttled")
            raise Throttled(wait_s)

    def found(self, hashed: str) -> None:
        """Remember that a key was read and is valid."""
        self._valid[hashed] = True

    def unknown(
        self, key: str, caller: Caller | None, *, was_read: bool, kind: Kind | None = None
    ) -> None:
        """Log and count an unknown key.

        Args:
            was_read: Whether the key was read from the store.
            kind: The kind of the key; derived from its prefix if not given.
        """
        if was_read:
            self._valid.pop(hash_key(key), None)
        if caller is None:
            return
        client = self._proxies.client(caller)
        self._record_failure("unknown", kind or kind_of(key), client, prefix=prefix_of(key))
        if was_read and self._limit.add(client):
            self._log.warning("keys_throttled", client=client.address, claimed=client.claimed)

    def expired(self, principal: Principal, caller: Caller | None) -> None:
        if caller is not None:
            named = {"key": str(principal.key_id), "user": principal.user.id}
            self._record_failure("expired", "personal", self._proxies.client(caller), **named)

    def denied(self, principal: Principal, caller: Caller) -> None:
        """Log and count a valid key or session that was used without the permission."""
        kind: Kind = "personal" if principal.session_id is None else "session"
        named = {"key": principal.credential, "user": principal.user.id}
        self._record_failure("denied", kind, self._proxies.client(caller), **named)

    def ended_secret(self, masked: str, caller: Caller | None) -> None:
        """Log and count a former secret key of a project that was used after its expiry."""
        if caller is not None:
            self._record_failure("expired", "secret", self._proxies.client(caller), key=masked)

    def denied_secret(self, masked: str, caller: Caller) -> None:
        """Log and count a project's secret key that was used for another project."""
        self._record_failure("denied", "secret", self._proxies.client(caller), key=masked)

    def _record_failure(self, reason: Reason, kind: Kind, client: Client, **named: object) -> None:
        self._count(kind, reason)
        self._log.warning("key_refused", reason=reason, kind=kind, client=client.address, **named)
