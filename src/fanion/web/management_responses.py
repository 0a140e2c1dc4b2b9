"""The responses of the management API: rows as JSON, errors in one format, allowed methods.

Source: api.md, "Errors"; capture.md section 10.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
import structlog
from litestar import Request, Response
from litestar.datastructures import MutableScopeHeaders
from litestar.exceptions import (
    HTTPException,
    MethodNotAllowedException,
    NotFoundException,
    ValidationException,
)
from litestar.exceptions.http_exceptions import RequestEntityTooLarge
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute
from litestar.serialization import default_serializer
from litestar.types import Message, Scope, Send
from msgspec import UNSET, Struct

from fanion.db.engine import RecordsUnavailable
from fanion.errors import (
    AppError,
    BodyTooLarge,
    Invalid,
    MethodNotAllowed,
    NotFound,
    ParseError,
    Unavailable,
    with_head,
)
from fanion.events.event import EventStoreUnavailable, StatementFailed
from fanion.observability.logging import without_token
from fanion.rest.endpoints import Streamed
from fanion.runtime.failure_log import FailureLog

# A larger response is encoded in a thread, in pieces: encoding this much takes a millisecond.
ENCODED_ON_LOOP_BYTES_MAX = 128 * 1024
PIECE_BYTES = 256 * 1024
TOO_MUCH = (
    "The answer takes too much time or memory. Use a shorter time range, or fewer conditions."
)
QUIET_S = 10.0  # after this time without a failing request a store counts as available again
# The status of handlers that exist only to reject a method.
_REJECTED = 405

ExceptionHandler = Callable[[Request[Any, Any, Any], Exception], Response[bytes]]

_encode = msgspec.json.Encoder(enc_hook=default_serializer).encode


async def encode_response(response: Any) -> Any:
    """Encode Structs, lists and dicts by rows, as the framework's `after_request` hook.

    A call of the encoder holds the GIL until it returns. Every other response is left as it is.
    """
    content = response.content if isinstance(response, Response) else None
    if not isinstance(content, Struct | list | dict):
        return response
    fragments = _encoded_fragments(content)
    body = _join_fragments(fragments, ENCODED_ON_LOOP_BYTES_MAX)
    if len(body) < ENCODED_ON_LOOP_BYTES_MAX:
        response.content = body
        return response
    pieces = _encoded_pieces(body, fragments)
    return Streamed(pieces, "application/json", response.status_code, response.headers)


async def _encoded_pieces(first: bytes, fragments: Iterator[bytes]) -> AsyncGenerator[bytes]:
    piece = first
    while piece:
        yield piece
        piece = await asyncio.to_thread(_join_fragments, fragments, PIECE_BYTES)


def _join_fragments(fragments: Iterator[bytes], bytes_min: int) -> bytes:
    """Join the next fragments, of at least `bytes_min` bytes; fewer at the end, then none."""
    parts, size = list[bytes](), 0
    for fragment in fragments:
        parts.append(fragment)
        size += len(fragment)
        if size >= bytes_min:
            break
    return b"".join(parts)


def _encoded_fragments(content: Any) -> Iterator[bytes]:
    """Yield the encoded content; each row of a list, even in a field, is a fragment."""
    if isinstance(content, list):
        yield from _encoded_rows(content)
    elif isinstance(content, dict):
        yield from _encoded_members(content.items())
    elif content.__struct_config__.omit_defaults or content.__struct_config__.tag is not None:
        yield _encode(content)
    else:
        names = zip(content.__struct_fields__, content.__struct_encode_fields__, strict=True)
        yield from _encoded_members((encoded, getattr(content, name)) for name, encoded in names)


def _encoded_members(members: Any) -> Iterator[bytes]:
    """Yield an encoded object.

    Args:
        members: Pairs of name and value.
    """
    before = b"{"
    for name, value in members:
        if value is UNSET:
            continue
        yield before + _encode(name) + b":"
        if isinstance(value, list):
            yield from _encoded_rows(value)
        else:
            yield _encode(value)
        before = b","
    yield b"{}" if before == b"{" else b"}"


def _encoded_rows(rows: list[Any]) -> Iterator[bytes]:
    before = b"["
    for row in rows:
        yield before + _encode(row)
        before = b","
    yield b"[]" if before == b"[" else b"]"


async def send_with_allow(scope: Scope, send: Send, message: Message) -> None:
    """Add `Allow` to a response to OPTIONS.

    Args:
        scope: The scope after routing.
    """
    if message["type"] == "http.response.start":
        allowed = ", ".join(sorted(methods_of_path(scope)))
        if allowed:
            MutableScopeHeaders.from_message(message)["allow"] = allowed
    await send(message)


def methods_of_path(scope: Scope) -> set[str]:
    """Return the methods of a path, without those whose handler only rejects them."""
    template = scope.get("path_template")
    return {
        str(method)
        for route in scope["litestar_app"].routes
        if isinstance(route, HTTPRoute) and route.path_format == template
        for handler in route.route_handlers
        if handler.status_code != _REJECTED
        for method in _methods_of(handler)
    }


def _methods_of(handler: HTTPRouteHandler) -> set[str]:
    """Return the methods of a handler, including HEAD if its GET changes nothing."""
    methods = {str(method) for method in handler.http_methods}
    return methods if handler.opt.get("reads") is False else set(with_head(methods))


@dataclass(frozen=True, slots=True)
class UnavailableStores:
    """The failures of stores that requests meet. No request tells that they have ended."""

    records: FailureLog = field(
        default_factory=lambda: FailureLog("records_unavailable", quiet_s=QUIET_S)
    )
    events: FailureLog = field(
        default_factory=lambda: FailureLog("events_unavailable", quiet_s=QUIET_S)
    )


def exception_handler(body_bytes_max: int) -> ExceptionHandler:
    """Return a function that renders every exception in the error format of the API."""
    unavailable = UnavailableStores()

    def render(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
        app_error = _app_error(request, error, body_bytes_max, unavailable)
        return Response(
            app_error.body(),
            status_code=app_error.status,
            headers=dict(app_error.headers()),
            media_type="application/json",
        )

    return render


def _app_error(
    request: Request[Any, Any, Any],
    error: Exception,
    body_bytes_max: int,
    unavailable: UnavailableStores,
) -> AppError:
    match error:
        case AppError():
            return error
        case RecordsUnavailable():
            unavailable.records.failed(str(error))
            return Unavailable()
        case StatementFailed():
            return Invalid(TOO_MUCH, code="too_large")
        case EventStoreUnavailable():
            unavailable.events.failed(str(error))
            return Unavailable()
        case NotFoundException():
            return NotFound("Endpoint not found.")
        case MethodNotAllowedException():
            allowed = (error.headers or {}).get("allow", "")
            return MethodNotAllowed(request.method, tuple(allowed.split(", ")))
        case RequestEntityTooLarge():
            return BodyTooLarge(body_bytes_max)
        case ValidationException():
            return _parameter_error(error)
        case HTTPException(status_code=status) if status < 500:
            return ParseError(error.detail)
    _log_failure(request, error)
    return AppError()


def _parameter_error(error: ValidationException) -> AppError:
    """Return 404 for a path parameter that cannot be an id, or 400 naming a query parameter."""
    problems = error.extra if isinstance(error.extra, list) else []
    first = problems[0] if problems else {}
    if first.get("source") == "path":
        return NotFound()
    return Invalid(first.get("message", error.detail), attr=first.get("key"))


def _log_failure(request: Request[Any, Any, Any], error: Exception) -> None:
    """Log an error with its traceback, of which the client gets no detail."""
    structlog.get_logger().error(
        "request_failed",
        exc_info=error,
        request_id=request.scope["state"].get("request_id", ""),
        method=request.method,
        path=without_token(request.scope["path"]),
    )
