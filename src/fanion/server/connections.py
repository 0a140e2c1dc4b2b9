"""How many connections this process may hold open at once, in all and from one address."""

import resource
from collections import Counter
from collections.abc import Callable

from fanion.errors import AppError, Unavailable
from fanion.server.forwarded import network_of, read_address

# Each takes a file descriptor and a few kilobytes, idle ones between two requests included.
CONNECTIONS_MAX = 16_384
# For stores, logs and libraries.
FILES_APART = 512
CONNECTIONS_MIN = 128
# An office or a mobile operator behind one address keeps some hundreds open.
CONNECTIONS_PER_ADDRESS_MAX = 2_000


def allow_connections() -> int:
    """Raise this process's own limit of open files as far as it may, and say what it allows.

    A soft limit of 1,024 is usual, and an idle listener counts as much as a busy client.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS_MAX + FILES_APART
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(CONNECTIONS_MIN, min(CONNECTIONS_MAX, allowed - FILES_APART))


class ConnectionCount:
    def __init__(self, connections_max: int, is_proxy: Callable[[str], bool]) -> None:
        """is_proxy: whether connections from an address are many clients'"""
        self._connections_max = connections_max
        self._is_proxy = is_proxy
        self._all = 0
        self._of_address: Counter[str] = Counter()

    def opened(self, address: str) -> AppError | None:
        """Why a connection from there is one too many."""
        self._all += 1
        place = network_of(read_address(address))
        self._of_address[place] += 1
        if self._all > self._connections_max:
            return Unavailable("Too many connections are open. Please retry.")
        if self._of_address[place] > CONNECTIONS_PER_ADDRESS_MAX and not self._is_proxy(address):
            return Unavailable(
                "Too many connections are open from your address. Please retry.",
                code="too_many_connections",
            )
        return None

    def closed(self, address: str) -> None:
        self._all -= 1
        place = network_of(read_address(address))
        self._of_address[place] -= 1
        if not self._of_address[place]:
            del self._of_address[place]
