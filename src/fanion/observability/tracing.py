"""The traces of what a server does, as the rest of the program sees them.

They are off unless `OTEL_…` variables name a receiver; `otel_tracing` then makes them.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Final, Protocol

from fanion.server.forwarded import Headers

# Attributes have few values, as labels of metrics: never keys, ids of persons, or texts of clients.
Attributes = Mapping[str, str | int]


class RequestSpan(Protocol):
    """The span of a request that is being answered."""

    def end(self, status: int) -> str:
        """End the span.

        Returns:
            The id of its trace, for the log; "" if the trace is not sampled.
        """


class Tracing(Protocol):
    """Makes spans.

    Attributes:
        is_on: Whether anything is done with them.
    """

    is_on: bool

    def begin_request(self, headers: Headers, method: str, route: str) -> RequestSpan:
        """Begin the span of a request; spans that follow in its task become its children."""

    def record_request(
        self, headers: Headers, method: str, route: str, status: int, seconds: float
    ) -> str:
        """Make the span of a request that has just been answered.

        Returns:
            The id of its trace, for the log; "" if the trace is not sampled.
        """

    def span(self, name: str, attributes: Attributes) -> AbstractContextManager[None]:
        """Make a span for the length of a block; those that follow in it become its children."""

    def record(self, name: str, seconds: float, attributes: Attributes) -> None:
        """Make a span that has just ended, if it has a parent."""

    def close(self) -> None:
        """Send what has not been sent, for a few seconds at most."""


class NoTracing:
    """Traces that are off."""

    is_on = False

    def begin_request(self, headers: Headers, method: str, route: str) -> "NoTracing":
        return self

    def end(self, status: int) -> str:
        return ""

    def record_request(
        self, headers: Headers, method: str, route: str, status: int, seconds: float
    ) -> str:
        return ""

    @contextmanager
    def span(self, name: str, attributes: Attributes) -> Iterator[None]:
        yield

    def record(self, name: str, seconds: float, attributes: Attributes) -> None:
        pass

    def close(self) -> None:
        pass


NO_TRACING: Final = NoTracing()
