"""Ordinary captures, which wait for nothing but the accept log: answered without a task."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from fanion.accept_log.port import Appender, Envelope, LogFull
from fanion.errors import InvalidPayload, Unavailable
from fanion.ingest.capture.parsing import skim
from fanion.observability.metrics import HotCounter
from fanion.projects.cache import Projects
from fanion.server.endpoint import Reply, Response

# Reading a larger body takes more than a few milliseconds, which the event loop has not.
READ_ON_LOOP_BYTES_MAX = 128 * 1024
RETRY_AFTER_S = 5

ACCEPTED = Response(200, b'{"status":1}')


def not_stored(error: Exception) -> Unavailable:
    """error: LogFull or OSError of an append"""
    if isinstance(error, LogFull):
        return Unavailable(
            "Too many events wait for ingestion. Please retry.",
            code="log_full",
            retry_after_s=RETRY_AFTER_S,
        )
    return Unavailable("Events cannot be stored now. Please retry.")


class _Receipt:
    """Of a capture that is answered when it is durable; as `accept_log.port.Completion`."""

    __slots__ = ("_accepted", "_items", "_reply")

    def __init__(self, reply: Reply, accepted: HotCounter, items: int) -> None:
        self._reply = reply
        self._accepted = accepted
        self._items = items

    def done(self) -> bool:
        return False  # the body is stored even if the client has disconnected

    def set_result(self, _: int, /) -> None:
        self._accepted.count += self._items
        self._reply(ACCEPTED)

    def set_exception(self, exception: Exception, /) -> None:
        is_refusal = isinstance(exception, (LogFull, OSError))
        self._reply(not_stored(exception) if is_refusal else exception)


@dataclass(frozen=True, slots=True)
class FastCapture:
    """All captures with one head, as `server.response.FastEndpoint`.

    query:      its fields
    address_of: from the peer to the client's address
    """

    projects: Projects
    log: Appender
    now: Callable[[], datetime]
    accepted: HotCounter
    body_bytes_max: int
    query: Mapping[str, str]
    user_agent: str
    address_of: Callable[[str], str]

    def __call__(self, body: bytes, peer: str, reply: Reply) -> bool:
        if len(body) > self.body_bytes_max:
            return False
        try:
            capture = skim(body, self.query)
        except InvalidPayload:
            return False
        if capture is None:
            return False
        project = self.projects.known(capture.token)
        if project is None or project.ingestion.is_limited:
            return False
        envelope = Envelope(
            project.id,
            self.now(),
            self.address_of(peer),
            self.user_agent,
            capture.sent_at,
            body,
            capture.historical,
        )
        try:
            self.log.append_for(_Receipt(reply, self.accepted, capture.items), envelope)
        except (LogFull, OSError):
            return False
        return True
