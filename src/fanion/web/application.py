"""The application: hot routes answered here, everything else by the framework."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from time import perf_counter
from typing import Any
from urllib.parse import unquote

from fanion.errors import AppError, MethodNotAllowed, NotFound
from fanion.observability.logging import Telemetry
from fanion.projects.model import Principal
from fanion.rest.multipart_reader import MULTIPART
from fanion.server import asgi_bridge
from fanion.server.endpoint import Response
from fanion.server.errors import ClientDisconnected, HttpError
from fanion.server.forwarded import Headers
from fanion.server.head import RequestHead
from fanion.server.request import Request
from fanion.web.cors import cors_headers, preflight
from fanion.web.fast_path import FastRoute
from fanion.web.refusals import refused
from fanion.web.routes import Route, Routes

_JSON = ("content-type", "application/json")
_NOT_SNIFFED = ("x-content-type-options", "nosniff")
_INTERNAL = AppError().body()
# `OPTIONS *` asks what the server can do, whichever the path. source: RFC 9110 section 9.3.7
WHOLE_SERVER = "*"
# Flags of the caller's own project have a second address. source: flags.md section 11
FLAGS_ALIAS = "/api/feature_flag"
FLAGS = "/api/projects/@current/feature_flags"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
# The status in logs and metrics of a request whose client has disconnected, as nginx writes it.
CLIENT_GONE = 499


@dataclass(frozen=True, slots=True)
class Application:
    """`except Exception` stands here once for all hot routes; `management` has its own.

    management: None where nothing but routes is answered
    """

    routes: Routes
    management: asgi_bridge.AsgiApp | None
    telemetry: Telemetry
    body_bytes_max: int

    def fast_path(self, head: RequestHead) -> FastRoute | None:
        """How requests with this head are answered without a task, those that need none."""
        route = self.routes.find(head.path)
        if route is None or route.find_fast_endpoint is None or head.method != "POST":
            return None
        endpoint = route.find_fast_endpoint(head.query, head.headers)
        return None if endpoint is None else FastRoute(head, route, endpoint, self.telemetry)

    async def answer(self, request: Request) -> bool:
        """Whether the answer was costly, as `Response` says."""
        costly = False
        started = perf_counter()
        headers, path, method = request.headers, request.path, request.method
        request_id = self.telemetry.request_id(headers)
        route = self.routes.find(path)
        name = "management" if route is None else route.name
        try:
            if route is None:
                status = await self._manage(request, request_id)
            else:
                response = await self._respond(route, request, request_id)
                lines = [("content-type", response.content_type), ("x-request-id", request_id)]
                if response.headers:
                    lines += response.headers
                if route.cors:
                    lines += cors_headers(headers, credentials=route.credentials)
                status, costly = response.status, response.costly
                if response.chunks is None:
                    request.response_bytes(status, lines, response.body)
                else:
                    await self._stream(
                        request, status, lines, response.chunks, is_head=method == "HEAD"
                    )
                    started = perf_counter()  # how long the client stayed says nothing about us
        except ClientDisconnected:
            status = CLIENT_GONE
        seconds = perf_counter() - started
        client = self.telemetry.proxies.client_address(request.peer, headers)
        self.telemetry.answered(
            request_id, name, method, path, status, seconds, client, request.key_id, request.user_id
        )
        return costly

    async def _respond(self, route: Route, request: Request, request_id: str) -> Response:
        method = "GET" if request.method == "HEAD" else request.method  # the body is left out later
        try:
            body = request.received()
            if body is None or len(body) > self.body_bytes_max:
                await request.read(self.body_bytes_max)
            if method in route.methods:
                return await route.endpoint(request)
            if method == "OPTIONS":
                return preflight(request.headers)
            raise MethodNotAllowed(method, (*route.methods, "OPTIONS"))
        except (AppError, HttpError) as error:
            return refused(error)
        except ClientDisconnected:
            raise
        except Exception as error:
            self.telemetry.failed(request_id, request.path, error)
            return refused(AppError())

    async def _stream(
        self,
        request: Request,
        status: int,
        lines: list[tuple[str, str]],
        chunks: AsyncGenerator[bytes],
        *,
        is_head: bool,
    ) -> None:
        """Until the chunks end, or the client has gone, which a failing send tells."""
        request.response_stream(status, lines)
        try:
            if not is_head:
                async for chunk in chunks:
                    await request.send_bytes(chunk)
        except ClientDisconnected:
            pass
        finally:
            await chunks.aclose()

    async def _manage(self, request: Request, request_id: str) -> int:
        state: dict[str, Any] = {"request_id": request_id}
        extra = [("x-request-id", request_id), _NOT_SNIFFED]
        try:
            if request.path == WHOLE_SERVER:
                request.response_bytes(200, [("allow", ", ".join(METHODS)), *extra], b"")
                return 200
            if self.management is None or not request.path.startswith("/api/"):
                raise NotFound
            body = None
            if not _comes_in_pieces(request.headers, self.body_bytes_max):
                body = await request.read(self.body_bytes_max)
            status = await asgi_bridge.answer(
                self.management,
                request,
                body,
                state,
                path=_aliased(unquote(request.path)),
                headers=[("x-request-id", request_id)],
            )
        except (AppError, HttpError) as error:
            told = refused(error)
            request.response_bytes(told.status, [_JSON, *extra, *told.headers], told.body)
            return told.status
        except ClientDisconnected:
            raise
        except asgi_bridge.ResponseAborted as error:
            self.telemetry.failed(request_id, request.path, error)
            raise ClientDisconnected from error  # closes the connection
        except Exception as error:
            self.telemetry.failed(request_id, request.path, error)
            request.response_bytes(500, [_JSON, *extra], _INTERNAL)
            return 500
        finally:
            principal: Principal | None = state.get("principal")
            if principal is not None:
                request.key_id, request.user_id = str(principal.key_id), principal.user.id
        return status


def _aliased(path: str) -> str:
    rest = path.removeprefix(FLAGS_ALIAS)
    return FLAGS + rest if rest != path and rest[:1] in ("", "/") else path


def _comes_in_pieces(headers: Headers, bytes_max: int) -> bool:
    """A form that is not known to be small: what takes it reads it while it comes in."""
    media = headers.get("content-type", "").partition(";")[0].strip().lower()
    return media == MULTIPART and not _is_announced(headers, bytes_max)


def _is_announced(headers: Headers, bytes_max: int) -> bool:
    """The client says how large the body is, and it is not too large."""
    length = headers.get("content-length")
    if length is None or not (length.isascii() and length.isdigit()):
        return False
    return int(length) <= bytes_max
