"""The errors that the server answers by itself, before the application or in its place.

The application gives the server a function that renders them, so that clients see one shape of
errors.
"""

from typing import ClassVar


class ClientDisconnected(Exception):
    """A connection that closed before its request was complete or its response was sent."""


class HttpError(Exception):
    """An error that the server answers by itself.

    Attributes:
        reason: A stable word for programs.
        detail: A sentence for their authors.
    """

    status: ClassVar[int] = 400
    reason: str
    detail: str
    retry_after_s: ClassVar[int | None] = None

    def __init__(self, detail: str | None = None) -> None:
        if detail is not None:
            self.detail = detail
        super().__init__(self.detail)


class MalformedRequest(HttpError):
    reason = "malformed_request"
    detail = "The request is not valid HTTP/1.1."


class RequestTimeout(HttpError):
    status, reason = 408, "request_timeout"
    detail = "The request was sent too slowly."


class ContentTooLarge(HttpError):
    status, reason = 413, "payload_too_large"

    def __init__(self, bytes_max: int) -> None:
        super().__init__(f"The request body is larger than {bytes_max} bytes.")


class TargetTooLong(HttpError):
    status, reason = 414, "uri_too_long"

    def __init__(self, bytes_max: int) -> None:
        super().__init__(f"The request target is longer than {bytes_max} bytes.")


class HeadTooLarge(HttpError):
    status, reason = 431, "headers_too_large"

    def __init__(self, bytes_max: int) -> None:
        super().__init__(f"The request line and headers are larger than {bytes_max} bytes.")


class TrailersTooLarge(HttpError):
    status, reason = 431, "trailers_too_large"

    def __init__(self, bytes_max: int) -> None:
        super().__init__(f"Chunk extensions and trailers are larger than {bytes_max} bytes.")


class NotImplementedHere(HttpError):
    """A method or a transfer coding that this server does not implement."""

    status, reason = 501, "not_implemented"


class VersionNotSupported(HttpError):
    status, reason = 505, "http_version_not_supported"
    detail = "HTTP/1.1 and HTTP/1.0 are supported."


class Overloaded(HttpError):
    """A limit on connections or buffers that has been reached."""

    status, reason = 503, "unavailable"
    retry_after_s = 5

    def __init__(self, detail: str, reason: str = "unavailable") -> None:
        self.reason = reason
        super().__init__(detail)
