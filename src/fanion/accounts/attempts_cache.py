"""Delays between attempts to sign in, which grow with failures of an account and of an address.

No account is ever locked. Users who have signed in from an address lately wait there only for
their own mistakes, whatever others try. A refused attempt costs no hash and counts for nothing.
"""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

from cachetools import TTLCache

from fanion.errors import Throttled
from fanion.runtime.background import backoff_s
from fanion.server.forwarded import network_of

# Failures without a delay; after them it doubles from one second.
ACCOUNT_FREE, ACCOUNT_DELAY_S_MAX = 5, 60.0
ADDRESS_FREE, ADDRESS_DELAY_S_MAX = 20, 900.0
# For all clients together that one untrusted peer claims to forward: it may be a proxy that the
# operator has not named, or it may invent them.
PEER_FREE, PEER_DELAY_S_MAX = 200, 60.0
FORGOTTEN_S = 3600.0  # after the last failure
COUNTED_MAX = 40_000  # accounts and addresses at a time: 16 MB
KNOWN_S = 30 * 86_400.0  # how long an address is known to an account
KNOWN_MAX = 20_000

# Kind, account or "", network or "".
Key = tuple[Literal["account", "known", "address", "peer"], str, str]
_LIMITS = {
    "account": (ACCOUNT_FREE, ACCOUNT_DELAY_S_MAX),
    "known": (ACCOUNT_FREE, ACCOUNT_DELAY_S_MAX),
    "address": (ADDRESS_FREE, ADDRESS_DELAY_S_MAX),
    "peer": (PEER_FREE, PEER_DELAY_S_MAX),
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt that was admitted. It counts as failed until `succeeded` is called with it.

    Attributes:
        account: A digest, so that a long name takes no more memory than a short one.
        counted: The keys of the failures that the attempt was counted for.
    """

    account: str
    network: str
    counted: Sequence[Key]


@dataclass(slots=True)
class Failures:
    count: int = 0
    last_s: float = 0.0
    until_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Client:
    """The client that attempts to sign in.

    Attributes:
        account: A digest of the account's name.
        network: The network of the client.
        peer: The network of the other end of the connection.
    """

    account: str
    network: str
    peer: str

    def keys(self, *, is_known: bool) -> list[Key]:
        """Return the keys for which a failure of this attempt counts.

        Args:
            is_known: Whether the account was used from this network lately.
        """
        if is_known:
            return [("known", self.account, self.network)]
        keys: list[Key] = [("account", self.account, "")]
        if self.network:
            keys.append(("address", "", self.network))
        if self.network != self.peer:
            keys.append(("peer", "", self.peer))
        return keys


def read_client(account: str, address: str, claimed: str) -> Client:
    """Build the client of an attempt.

    Args:
        account: The e-mail address that was sent, known or not, or `code` and a user id.
        address: The client's address; "" if it is unknown.
        claimed: The address that an untrusted peer forwards for its client; "" for none.
    """
    digest = hashlib.blake2b(account.encode(errors="surrogatepass"), digest_size=16).hexdigest()
    peer = network_of(address) if address else ""
    network = f"{peer} {network_of(claimed)}" if peer and claimed else peer
    return Client(digest, network, peer)


class SignInAttempts:
    """Failures and known addresses in memory, and the delays that follow from them.

    Args:
        clock: Monotonic clock, in seconds.
        failures: The least recently counted ones are dropped first.
        known: By account and network.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        failures: OrderedDict[Key, Failures] | None = None,
        known: MutableMapping[tuple[str, str], bool] | None = None,
    ) -> None:
        self._clock = clock
        self._failures = OrderedDict() if failures is None else failures
        self._known = TTLCache(KNOWN_MAX, KNOWN_S, clock) if known is None else known

    def __len__(self) -> int:
        return len(self._failures)

    def begin(self, account: str, address: str, claimed: str = "") -> Attempt:
        """Admit an attempt, which counts as a failure at once so that concurrent attempts wait.

        Args:
            account: The e-mail address that was sent, known or not, or `code` and a user id.
            address: The client's address; "" if it is unknown.
            claimed: The address that an untrusted peer forwards for its client; "" for none.

        Raises:
            Throttled: The client has to wait.
        """
        client = read_client(account, address, claimed)
        keys = self.require_turn(client)
        for key in keys:
            self._count_failure(key)
        return Attempt(client.account, client.network, keys)

    def require_turn(self, client: Client) -> Sequence[Key]:
        """Return the keys for which the attempt would count.

        Raises:
            Throttled: The client has to wait.
        """
        is_known = bool(client.network) and (client.account, client.network) in self._known
        keys = client.keys(is_known=is_known)
        wait_s = max(self._wait_s(key) for key in keys)
        if wait_s > 0:
            raise Throttled(ceil(wait_s))
        return keys

    def withdraw(self, attempt: Attempt) -> None:
        """Uncount an attempt: a store or the CPU was too busy to check its password."""
        for key in attempt.counted:
            self._uncount_failure(key)

    def succeeded(self, attempt: Attempt) -> None:
        """Forgive the account its earlier failures, and uncount this attempt for the address.

        The failures of the address stay: somebody may be guessing another account from there.
        """
        for key in attempt.counted:
            if key[0] in ("account", "known"):
                self._failures.pop(key, None)
            else:
                self._uncount_failure(key)
        if attempt.network:
            self._known[attempt.account, attempt.network] = True

    def _wait_s(self, key: Key) -> float:
        failures = self._failures.get(key)
        return 0.0 if failures is None else failures.until_s - self._clock()

    def _count_failure(self, key: Key) -> None:
        now = self._clock()
        failures = self._failures.setdefault(key, Failures())
        if now - failures.last_s >= FORGOTTEN_S:
            failures.count = 0
        failures.count += 1
        failures.last_s = now
        failures.until_s = now + _delay_s(key[0], failures.count)
        self._failures.move_to_end(key)
        if len(self._failures) > COUNTED_MAX:
            self._failures.popitem(last=False)

    def _uncount_failure(self, key: Key) -> None:
        failures = self._failures.get(key)
        if failures is not None:
            failures.count -= 1
            failures.until_s = min(
                failures.until_s, failures.last_s + _delay_s(key[0], failures.count)
            )


def _delay_s(kind: str, failures: int) -> float:
    free, delay_s_max = _LIMITS[kind]
    if failures < free:
        return 0.0
    return backoff_s(failures - free + 1, 1.0, delay_s_max)
