"""The table of hot routes: which path is answered without the web framework, and by what."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from fanion.server.endpoint import Endpoint, FindFastEndpoint


class AnsweredBy(Enum):
    """Which process of a server with web workers answers a request."""

    SERVER = "server"  # the server alone
    WORKER = "worker"  # web workers, and the server while none of them is ready
    HERE = "here"  # the process that has the connection, unless its answers on it are costly


@dataclass(frozen=True, slots=True)
class Route:
    """name:               a stable word for metrics and logs
    methods:            in addition to OPTIONS
    cors:               whether pages of other origins may read the answers
    credentials:        whether they may send cookies along; False where a personal or a secret
                        key is the credential
    find_fast_endpoint: of POST requests that need no task
    """

    name: str
    endpoint: Endpoint
    methods: tuple[str, ...] = ("POST",)
    cors: bool = True
    credentials: bool = True
    find_fast_endpoint: FindFastEndpoint | None = None
    answered_by: AnsweredBy = AnsweredBy.SERVER


class Routes:
    """Every exact path is served with and without its last slash, never by a redirect:
    a redirected POST becomes a GET in some clients."""

    def __init__(
        self, exact: Mapping[str, Route], patterns: Sequence[tuple[str, str, Route]] = ()
    ) -> None:
        """patterns: beginning and end of paths with something in between, and their route"""
        self._exact = {
            variant: route
            for path, route in exact.items()
            for variant in {path.rstrip("/") or "/", path.rstrip("/") + "/"}
        }
        self._patterns = tuple(patterns)

    def only(self, keep: Callable[[str, Route], bool]) -> "Routes":
        """keep: called with each path, or the beginning of each pattern, and its route"""
        return Routes(
            {path: route for path, route in self._exact.items() if keep(path, route)},
            [pattern for pattern in self._patterns if keep(pattern[0], pattern[2])],
        )

    def find(self, path: str) -> Route | None:
        route = self._exact.get(path)
        if route is None:
            for start, end, candidate in self._patterns:
                if path.startswith(start) and path.rstrip("/").endswith(end):
                    return candidate
        return route
