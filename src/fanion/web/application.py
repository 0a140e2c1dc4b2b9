"""The application: public routes are answered here, management requests by the web framework."""

import asyncio
import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any
from urllib.parse import unquote

import msgspec

from fanion.errors import AppError, MethodNotAllowed, NotFound
from fanion.observability.logging import Telemetry, without_token
from fanion.projects.auth.model import Principal
from fanion.server import asgi_bridge
from fanion.server.connection import Connection
from fanion.server.errors import ClientDisconnected, HttpError
from fanion.server.head import RequestHead
from fanion.server.request import FastEndpoint, FastRequest, LaterResponse, Request
from fanion.server.response import BODILESS, Response, response_head
from fanion.server.server import HttpServer
from fanion.web.routes import Route, Routes, cors_headers, preflight_response
from fanion.web.security_headers import MANAGEMENT_HEADERS

_JSON = ("content-type", "application/json")
# The path of `OPTIONS *`, which asks about the whole server (RFC 9110 section 9.3.7).
WHOLE_SERVER = "*"
# A second address for flags of the caller's own project (flags.md section 11).
FLAGS_ALIAS = "/api/feature_flag"
FLAGS = "/api/projects/@current/feature_flags"
# Newer clients query an environment, of which a project has one (insights.md section 1b).
_ENVIRONMENT_QUERY = re.compile(r"/api/environments/([^/]+/query(?:/.*)?)", re.DOTALL)
# The first request of a page before a user has signed in, where PostHog has it.
PREFLIGHT = "/_preflight"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
# The status, in logs and metrics, of a request whose client has disconnected; nginx uses it too.
CLIENT_GONE = 499


@dataclass(frozen=True, slots=True)
class Application:
    """The routes and the management API of one listener.

    Attributes:
        management: None on a listener that serves only public routes.
    """

    routes: Routes
    management: asgi_bridge.AsgiApp | None
    telemetry: Telemetry
    body_bytes_max: int

    def fast_path(self, head: RequestHead) -> "FastRoute | None":
        """Return the fast path of requests with this head, or None if they need a task."""
        route = self.routes.find(head.path)
        if route is None or route.find_fast_endpoint is None or head.method != "POST":
            return None
        endpoint = route.find_fast_endpoint(head)
        return None if endpoint is None else FastRoute(head, route, endpoint, self.telemetry)

    async def answer(self, request: Request) -> bool:
        """Answer a request, and log and count it.

        Returns:
            Whether the response was costly, as `Response` defines it.
        """
        costly = False
        started = perf_counter()
        headers, path, method = request.headers, request.path, request.method
        request_id = self.telemetry.request_id(headers)
        route = self.routes.find(path)
        name = "management" if route is None else route.name
        tracing = self.telemetry.tracing
        span = None if tracing is None else tracing.begin_request(headers, method, name)
        state: dict[str, Any] = {"request_id": request_id, "is_head": method == "HEAD"}
        try:
            if route is None:
                status = await self._manage(request, request_id, state)
            else:
                response = await self._respond(route, request, request_id)
                lines = [("content-type", response.content_type), ("x-request-id", request_id)]
                if response.headers:
                    lines += response.headers
                if route.cors and (origin := headers.get("origin")):
                    lines += cors_headers(origin, credentials=route.credentials)
                status, costly = response.status, response.costly
                if response.chunks is None:
                    request.response_bytes(status, lines, response.body)
                else:
                    await self._stream(
                        request, status, lines, response.chunks, is_head=method == "HEAD"
                    )
                    started = perf_counter()  # the length of a stream says nothing about the server
        except ClientDisconnected:
            status = CLIENT_GONE
        if route is None:
            path = without_token(path)
        if state.get("is_endless"):
            started = perf_counter()
        seconds = perf_counter() - started
        client = self.telemetry.proxies.client_address(request.peer, headers)
        self.telemetry.log_request(
            request_id,
            name,
            method,
            path,
            status,
            seconds,
            client,
            request.key_id,
            request.user_id,
            "" if span is None else span.end(status),
        )
        return costly

    async def _respond(self, route: Route, request: Request, request_id: str) -> Response:
        # HEAD is answered like GET: the connection leaves the body out.
        method = "GET" if request.method == "HEAD" else request.method
        try:
            if method == "OPTIONS":
                return preflight_response(request.headers, route.methods)
            if method not in route.methods:
                raise MethodNotAllowed(method, (*route.methods, "OPTIONS"))
            if route.is_body_read and method == "POST":
                body = request.received()
                if body is None or len(body) > self.body_bytes_max:
                    await request.read(self.body_bytes_max)
            return await route.endpoint(request)
        except (AppError, HttpError) as error:
            return error_response(error)
        except ClientDisconnected:
            raise
        except Exception as error:
            self.telemetry.log_failure(request_id, request.path, error)
            return error_response(AppError())

    async def _stream(
        self,
        request: Request,
        status: int,
        lines: list[tuple[str, str]],
        chunks: AsyncGenerator[bytes],
        *,
        is_head: bool,
    ) -> None:
        """Send chunks until they end or the client disconnects."""
        request.response_stream(status, lines)
        try:
            if not is_head:
                async for chunk in chunks:
                    await request.send_bytes(chunk)
        except ClientDisconnected:
            pass
        finally:
            await chunks.aclose()

    async def _manage(self, request: Request, request_id: str, state: dict[str, Any]) -> int:
        """Answer a management request, and return the status.

        Args:
            state: The request's state. A handler that streams until the client leaves sets
                `is_endless`.
        """
        extra = [("x-request-id", request_id), *MANAGEMENT_HEADERS]
        try:
            if request.path == WHOLE_SERVER:
                request.response_bytes(200, [("allow", ", ".join(METHODS)), *extra], b"")
                return 200
            if self.management is None or not _is_managed(request.path):
                raise NotFound
            return await asgi_bridge.run_asgi_app(
                self.management,
                request,
                state,
                path=_without_alias(unquote(request.path)),
                headers=extra,
            )
        except ClientDisconnected:
            raise
        except asgi_bridge.ResponseAborted as error:
            self.telemetry.log_failure(request_id, without_token(request.path), error)
            raise ClientDisconnected from error  # aborts the connection
        except Exception as error:
            if not isinstance(error, AppError | HttpError):
                self.telemetry.log_failure(request_id, without_token(request.path), error)
                error = AppError()
            response = error_response(error)
            request.response_bytes(
                response.status, [_JSON, *extra, *response.headers], response.body
            )
            return response.status
        finally:
            principal: Principal | None = state.get("principal")
            if principal is not None:
                request.key_id, request.user_id = principal.credential, principal.user.id


def error_response(error: AppError | HttpError) -> Response:
    """Return the response to an error, in the API's error format."""
    if isinstance(error, AppError):
        return Response(error.status, error.body(), error.headers())
    kind = "server_error" if error.status == 503 else "invalid_request"
    fields = {"type": kind, "code": error.reason, "detail": error.detail, "attr": None}
    retry_after_s = error.retry_after_s
    headers = () if retry_after_s is None else (("retry-after", str(retry_after_s)),)
    return Response(error.status, msgspec.json.encode(fields), headers)


def _is_managed(path: str) -> bool:
    return path.startswith("/api/") or path.rstrip("/") == PREFLIGHT


def _without_alias(path: str) -> str:
    if query := _ENVIRONMENT_QUERY.fullmatch(path):
        return f"/api/projects/{query[1]}"
    rest = path.removeprefix(FLAGS_ALIAS)
    return FLAGS + rest if rest != path and rest[:1] in ("", "/") else path


class FastRoute:
    """A path that answers requests with one head, without a task.

    Everything that depends only on the head is computed once: a capture takes 15 µs of the event
    loop without the sockets, not 25.
    """

    __slots__ = (
        "_begun", "_client", "_kind", "_peer", "_start", "_started", "endpoint", "head", "route",
        "telemetry",
    )  # fmt: skip

    def __init__(
        self, head: RequestHead, route: Route, endpoint: FastEndpoint, telemetry: Telemetry
    ) -> None:
        self.head = head
        self.route = route
        self.endpoint = endpoint
        self.telemetry = telemetry
        self._started: Response | None = None
        self._kind: tuple[int, str, tuple[tuple[str, str], ...]] | None = None
        self._start = self._begun = ""
        self._peer: str | None = None
        self._client = ""

    def __call__(
        self, connection: Connection, peer: str, keep_alive: bool, body: bytes, /
    ) -> "RoutedFastRequest | None":
        """Accept a request as a `FastPath` does."""
        request = RoutedFastRequest(self, connection, peer, keep_alive)
        try:
            answer = self.endpoint(body, peer, request)
        except Exception as error:
            request.answer = error
            return request
        if answer is False:
            return None
        if answer is not True:
            request.answer = answer
        return request

    def client(self, peer: str) -> str:
        """Return the client's address, for the log; most heads are sent by only one peer."""
        if peer != self._peer:
            self._client = self.telemetry.proxies.client_address(peer, self.head.headers)
            self._peer = peer
        return self._client

    def start_of(self, response: Response) -> str:
        """Return the response's head up to the request id.

        It is kept, because endpoints reuse one response, or at least its headers, for most
        requests.
        """
        if response is self._started:
            return self._start
        kind = response.status, response.content_type, response.headers
        if kind != self._kind:
            lines = [("content-type", response.content_type), *response.headers]
            if self.route.cors and (origin := self.head.headers.get("origin")):
                lines += cors_headers(origin, credentials=self.route.credentials)
            self._begun, self._kind = response_head(response.status, lines, None), kind
        self._start, self._started = self._begun, response
        if response.status not in BODILESS:
            self._start += f"content-length: {len(response.body)}\r\n"
        return self._start


class RoutedFastRequest(FastRequest):
    """One request, until its route's endpoint replies.

    Attributes:
        answer: The answer of an endpoint that has it at once, or that is to be awaited.
    """

    __slots__ = ("_peer", "_route", "_since", "_task", "answer")

    def __init__(
        self, route: FastRoute, connection: Connection, peer: str, keep_alive: bool, /
    ) -> None:
        """Begin a request.

        Args:
            peer: Address and port of the client's end of the connection.
        """
        self._route = route
        self._peer = peer
        self._connection = connection
        self._since = perf_counter()
        self.keep_alive = keep_alive
        self.is_answered = self.is_lost = False
        self.answer: Response | LaterResponse | Exception | None = None
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        answer = self.answer
        if isinstance(answer, Response | Exception):
            self(answer)
        elif answer is not None:
            self._task = asyncio.get_running_loop().create_task(self._reply_later(answer))

    async def _reply_later(self, answer: LaterResponse) -> None:
        try:
            response: Response | Exception = await answer
        except Exception as error:
            response = error
        self(response)

    def __call__(self, response: Response | Exception) -> None:
        """Send the response, as a `server.request.Reply`."""
        route = self._route
        head, telemetry = route.head, route.telemetry
        request_id = telemetry.request_id(head.headers)
        if isinstance(response, Exception):
            response = self._error_response(response, request_id)
        try:
            start = route.start_of(response)
            self._connection.respond(f"{start}x-request-id: {request_id}\r\n", response.body)
        except Exception as error:  # the caller has other requests to reply to
            telemetry.log_failure(request_id, head.path, error)
            self._connection.abort()
            return
        seconds = perf_counter() - self._since
        status, client = response.status, route.client(self._peer)
        name, tracing = route.route.name, telemetry.tracing
        trace_id = (
            ""
            if tracing is None
            else tracing.record_request(head.headers, head.method, name, status, seconds)
        )
        telemetry.log_request(
            request_id,
            name,
            head.method,
            head.path,
            status,
            seconds,
            client,
            trace_id=trace_id,
        )

    def _error_response(self, error: Exception, request_id: str) -> Response:
        if isinstance(error, AppError):
            return error_response(error)
        self._route.telemetry.log_failure(request_id, self._route.head.path, error)
        return error_response(AppError())


class Listeners:
    """One listener for everything, or one for public routes and one for management.

    Each has connections and buffers of its own: load on the public one does not lock operators
    out.
    """

    def __init__(self, public: HttpServer, management: HttpServer | None = None) -> None:
        self.public = public
        self._management = management

    async def answer_with(self, application: Application) -> None:
        """Serve this application from now on.

        Raises:
            OSError: A listener cannot listen.
        """
        if self._management is None:
            await self.public.answer_with(application)
            return
        await self.public.answer_with(for_public_listener(application))
        await self._management.answer_with(for_management_listener(application))

    async def wait_closed(self) -> None:
        await self.public.wait_closed()
        if self._management is not None:
            await self._management.wait_closed()


def for_public_listener(application: Application) -> Application:
    return replace(application, routes=application.routes.of_public_listener(), management=None)


def for_management_listener(application: Application) -> Application:
    return replace(application, routes=application.routes.of_management_listener())
