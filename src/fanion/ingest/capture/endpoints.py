"""The capture endpoints. 200 means that the items are safe on disk, not that they are ingested.

Source: api.md, "Public capture endpoint" and "Errors"; capture.md section 1.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from fanion.accept_log.port import USER_AGENT_CHARS_MAX, Appender, Envelope, LogFull
from fanion.errors import AppError, InvalidPayload, MissingApiKey, Throttled, Unavailable
from fanion.ingest.capture.parsing import (
    SHALLOW_ON_LOOP_BYTES_MAX,
    Capture,
    read_large,
    read_shallow,
    read_small,
    rewrite,
)
from fanion.ingest.capture.rate_limit import ProjectRateLimits, RateLimiter
from fanion.ingest.capture.v1 import (
    bearer_token,
    read_items_v1,
    read_large_v1,
    read_small_v1,
    v1_answer,
    v1_error,
)
from fanion.observability.metrics import HotCounter
from fanion.projects.auth.authentication_service import (
    CAPTURE_SCOPE,
    Authentication,
    project_of_key,
)
from fanion.projects.cache import Projects
from fanion.projects.model import Project
from fanion.server.forwarded import Headers, TrustedProxies
from fanion.server.head import RequestHead
from fanion.server.request import FastEndpoint, Reply, Request
from fanion.server.response import Response
from fanion.wire.decoding import parse_query
from fanion.wire.offload import Decoding

# A capture request with this header stores no client address with its events, unless an event has
# one itself. It is meant for copies, whose sender is not the client. Any client may send it, since
# any may send a `$ip` of its choice. Limits ignore it: they count by the real address.
ADDRESS_HEADER = "fanion-client-address"
NO_ADDRESS = "none"
# The length shown of a header value that an error quotes.
SHOWN_CHARS_MAX = 40
RETRY_AFTER_S = 5

T = TypeVar("T")

ACCEPTED = Response(200, b'{"status":1}')


def not_stored(error: Exception) -> Unavailable:
    """Return the answer to a request whose append failed.

    Args:
        error: LogFull or OSError.
    """
    if isinstance(error, LogFull):
        return Unavailable(
            "The ingestion backlog is full. Please retry.",
            code="log_full",
            retry_after_s=RETRY_AFTER_S,
        )
    return Unavailable("Events cannot be stored now. Please retry.")


@dataclass(frozen=True, slots=True)
class CaptureEndpoints:
    """The capture endpoints of all protocols, with their dependencies."""

    projects: Projects
    authentication: Authentication
    log: Appender
    now: Callable[[], datetime]
    accepted: HotCounter
    body_bytes_max: int
    proxies: TrustedProxies
    limits: RateLimiter = field(default_factory=ProjectRateLimits)
    decoding: Decoding = field(default_factory=Decoding)

    async def post(self, request: Request) -> Response:
        """Capture events on an ordinary path. How the body is read does not depend on the path."""
        await _or_later(self._capture(request))
        return ACCEPTED

    def find_fast_endpoint(self, head: RequestHead) -> FastEndpoint | None:
        """Return an endpoint for ordinary bodies with this head; None if only `post` can answer."""
        headers = head.headers
        try:
            fields, address_of = parse_query(head.query), self._address_of(headers)
        except InvalidPayload:
            return None
        if fields.get("compression") or headers.get("content-encoding"):
            return None
        return FastCapture(
            self.projects,
            self.log,
            self.now,
            self.accepted,
            min(self.body_bytes_max, SHALLOW_ON_LOOP_BYTES_MAX),
            fields,
            user_agent_of(headers),
            address_of,
        )

    async def engage(self, request: Request) -> Response:
        """Capture person updates of old browser clients."""
        await _or_later(self._capture(request, is_engage=True))
        return ACCEPTED

    async def v1(self, request: Request) -> Response:
        """Capture events in the newest protocol, with its own answer and error shape."""
        request_id = request.headers.get("posthog-request-id")
        echoed = (("posthog-request-id", request_id),) if request_id else ()
        try:
            answer = await _or_later(self._capture_v1(request))
        except AppError as error:
            return Response(error.status, v1_error(error), (*error.headers(), *echoed))
        return Response(200, answer, echoed)

    async def discard(self, _: Request) -> Response:
        """Discard data of products that this server does not have. Clients expect success."""
        return ACCEPTED

    async def _capture(self, request: Request, *, is_engage: bool = False) -> None:
        small = read_small(request, self.body_bytes_max, is_engage=is_engage)
        if small is not None:
            await self._store(
                request, small, await self._project(request, small.token, small.project)
            )
            return
        async with self.decoding.room(len(request.body), self.body_bytes_max) as room:
            read = partial(read_large, request, self.body_bytes_max, is_engage=is_engage)
            large = await room.run(read)
            capture = large.capture
            room.shrink(len(capture.items_json))
            project = await self._project(request, capture.token, capture.project)
            if large.item_bytes is not None:
                await room.grow(large.item_bytes)
                capture = await room.run(partial(rewrite, large))
            await self._store(request, capture, project)

    async def _capture_v1(self, request: Request) -> bytes:
        """Capture a v1 request and return the answer.

        The key is in a header, so the body is read only after the key has been verified.
        """
        project = await self._project(request, bearer_token(request), None)
        await request.read(self.body_bytes_max)
        small = read_small_v1(request, self.body_bytes_max)
        if small is not None:
            await self._store(request, small.capture, project)
            return v1_answer(small.results)
        async with self.decoding.room(len(request.body), self.body_bytes_max) as room:
            large = await room.run(partial(read_large_v1, request, self.body_bytes_max))
            room.shrink(len(large.json))
            await room.grow(large.bytes_to_read)
            capture, answer = await room.run(partial(read_items_v1, request, large))
            await self._store(request, capture, project)
            return answer

    async def _store(self, request: Request, capture: Capture, project: Project) -> None:
        if capture.refusal is not None:
            raise capture.refusal
        if capture.items == 0:
            return
        now = self.now()
        if project.ingestion.is_limited:
            await self._require_rate(project, capture, now)
        envelope = Envelope(
            project.id,
            now,
            self._address_of(request.headers)(request.peer),
            user_agent_of(request.headers),
            capture.sent_at.moment,
            capture.items_json,
            capture.historical,
        )
        try:
            await self.log.append(envelope)
        except (LogFull, OSError) as error:
            raise not_stored(error) from None
        self.accepted.count += capture.items

    def _address_of(self, headers: Headers) -> Callable[[str], str]:
        """Return a function from the peer's address to the address stored with events.

        Raises:
            InvalidPayload: ADDRESS_HEADER has a value that is not allowed.
        """
        said = headers.get(ADDRESS_HEADER)
        if said is None:
            return self.proxies.address_finder(headers)
        if said != NO_ADDRESS:
            quoted = said[:SHOWN_CHARS_MAX]
            raise InvalidPayload(f"{ADDRESS_HEADER}: {quoted!r} is not allowed, only {NO_ADDRESS}.")
        return _no_address

    async def _require_rate(self, project: Project, capture: Capture, now: datetime) -> None:
        """Raise Throttled if the project exceeds its rate limits."""
        size = len(capture.items_json)
        wait_s = await self.limits.take_tokens(project, capture.items, size, now.timestamp())
        if wait_s:
            raise Throttled(wait_s)

    async def _project(self, request: Request, token: str, project_id: Any) -> Project:
        """Return the project of a token.

        Args:
            project_id: The `project_id` of the request, as given.

        Source: capture.md section 1.5.
        """
        project = self.projects.known.get(token)
        if project is not None:
            return project
        if not token.strip():
            raise MissingApiKey
        return await project_of_key(
            self.projects, self.authentication, request, token, project_id, CAPTURE_SCOPE
        )


async def _or_later(capturing: Awaitable[T]) -> T:
    """Await a capture; answer 503 with `Retry-After` if a limit asks its client to wait.

    Every official client that retries at all does so after 503. After 429, the clients for Go and
    Rust in capture v1, for Java, and posthog-js drop the events; the one for Rust in the older
    protocol retries only because of `Retry-After`.

    Raises:
        Unavailable: Instead of Throttled.
    """
    try:
        return await capturing
    except Throttled as error:
        raise Unavailable(
            error.detail, code=error.code, retry_after_s=error.retry_after_s
        ) from None


def user_agent_of(headers: Headers) -> str:
    """Return the user agent to store with each envelope."""
    return (headers.get("user-agent") or "")[:USER_AGENT_CHARS_MAX]


def _no_address(_: str) -> str:
    return ""


# ── Ordinary captures, answered without a task ───────────────────────────────────────────


class _Completion:
    """The completion of an append, which answers the capture once it is durable."""

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
    """A `FastEndpoint` for all captures with the same head. It waits only for the accept log.

    Attributes:
        query: The fields of the query string.
        address_of: Returns the client's address for the peer's.
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
            capture = read_shallow(body, self.query)
        except InvalidPayload:
            return False
        if capture is None:
            return False
        project = self.projects.known.get(capture.token)
        if project is None or project.ingestion.is_limited:
            return False
        envelope = Envelope(
            project.id,
            self.now(),
            self.address_of(peer),
            self.user_agent,
            capture.sent_at.moment,
            body,
            capture.historical,
        )
        try:
            self.log.append_for(_Completion(reply, self.accepted, capture.items), envelope)
        except (LogFull, OSError):
            return False
        return True
