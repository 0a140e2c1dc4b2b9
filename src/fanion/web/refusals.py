"""Errors of the product and of its HTTP server as responses, in the one shape that clients read."""

import msgspec

from fanion.errors import AppError
from fanion.server.endpoint import Response
from fanion.server.errors import HttpError


def refused(error: AppError | HttpError) -> Response:
    if isinstance(error, AppError):
        return Response(error.status, error.body(), error.headers())
    kind = "server_error" if error.status == 503 else "invalid_request"
    told = {"type": kind, "code": error.reason, "detail": error.detail, "attr": None}
    retry_after_s = error.retry_after_s
    headers = () if retry_after_s is None else (("retry-after", str(retry_after_s)),)
    return Response(error.status, msgspec.json.encode(told), headers)
