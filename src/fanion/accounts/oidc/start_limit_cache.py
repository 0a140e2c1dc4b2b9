"""The rate limit of sign-ins that a stranger may begin or complete: each writes to the store."""

from collections.abc import Callable

from fanion.accounts.client_limits_cache import Rate, RateLimit, client_rates, take_tokens
from fanion.server.forwarded import Client

ADDRESS = Rate(burst=60, per_s=0.5)  # an office behind one address
PEER = Rate(burst=600, per_s=5)  # all clients that one untrusted peer claims to forward
ADDRESSES_MAX = 10_000  # counted at a time: 3 MB


class StartLimit:
    """A rate limit by client.

    Args:
        clock: Monotonic clock, in seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._limit = RateLimit(ADDRESSES_MAX, clock)

    def __len__(self) -> int:
        return len(self._limit)

    def count_request(self, client: Client) -> None:
        """Count a request. There is no limit if clients cannot be told apart.

        Raises:
            Throttled: The client has to wait.
        """
        take_tokens(self._limit.require_room(client_rates(client, ADDRESS, PEER)))
