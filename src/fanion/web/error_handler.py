"""Every failure of a management request, in the one shape that clients read.

source: api.md, "Errors"; capture.md section 10
"""

from collections.abc import Callable
from typing import Any

import structlog
from litestar import Request, Response
from litestar.exceptions import (
    HTTPException,
    MethodNotAllowedException,
    NotFoundException,
    ValidationException,
)
from litestar.exceptions.http_exceptions import RequestEntityTooLarge

from fanion.db.engine import RecordsUnavailable
from fanion.errors import (
    AppError,
    BodyTooLarge,
    Invalid,
    MethodNotAllowed,
    NotFound,
    ParseError,
    Unavailable,
)
from fanion.events.event import EventStoreUnavailable

Render = Callable[[Request[Any, Any, Any], Exception], Response[bytes]]


def error_renderer(body_bytes_max: int) -> Render:
    def render(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
        told = _as_told(request, error, body_bytes_max)
        return Response(
            told.body(),
            status_code=told.status,
            headers=dict(told.headers()),
            media_type="application/json",
        )

    return render


def _as_told(request: Request[Any, Any, Any], error: Exception, body_bytes_max: int) -> AppError:
    match error:
        case AppError():
            return error
        case RecordsUnavailable():
            structlog.get_logger().warning("records_unavailable", reason=str(error))
            return Unavailable()
        case EventStoreUnavailable():
            structlog.get_logger().warning("events_unavailable", reason=str(error))
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
    _log(request, error)
    return AppError()


def _parameter_error(error: ValidationException) -> AppError:
    """A path that fits no id names nothing; a query parameter is named to the client."""
    problems = error.extra if isinstance(error.extra, list) else []
    first = problems[0] if problems else {}
    if first.get("source") == "path":
        return NotFound()
    return Invalid(first.get("message", error.detail), attr=first.get("key"))


def _log(request: Request[Any, Any, Any], error: Exception) -> None:
    """We are wrong: the whole story goes to the log, the client learns nothing of it."""
    structlog.get_logger().error(
        "request_failed",
        exc_info=error,
        request_id=request.scope["state"].get("request_id", ""),
        method=request.method,
        path=request.scope["path"],
    )
