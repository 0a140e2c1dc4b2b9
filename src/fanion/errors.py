"""The errors that clients can get, with status, type and code, and those that refuse a start."""

from collections.abc import Iterable
from typing import ClassVar

import msgspec


class AppError(Exception):
    """An error answer; one place renders it as `{type, code, detail, attr}`.

    Subclasses fix the class attributes; an instance may override `detail`, `code` and `attr`.
    """

    status: ClassVar[int] = 500
    type: ClassVar[str] = "server_error"
    default_code: ClassVar[str] = "error"
    default_detail: ClassVar[str] = "A server error occurred."

    def __init__(
        self, detail: str | None = None, *, code: str | None = None, attr: str | None = None
    ) -> None:
        self.detail = self.default_detail if detail is None else detail
        self.code = self.default_code if code is None else code
        self.attr = attr
        super().__init__(self.detail)

    def fields(self) -> dict[str, str | None]:
        return {"type": self.type, "code": self.code, "detail": self.detail, "attr": self.attr}

    def body(self) -> bytes:
        return msgspec.json.encode(self.fields())

    def headers(self) -> tuple[tuple[str, str], ...]:
        """Return the headers besides the content type, such as `Retry-After`.

        Source: RFC 9110 section 15.5.2; capture.md section 9.
        """
        return (("www-authenticate", "Bearer"),) if self.status == 401 else ()


class InvalidPayload(AppError):
    status, type, default_code = 400, "validation_error", "invalid_payload"
    default_detail = "Malformed request data."


MALFORMED = "Malformed request data: "


def malformed(detail: str) -> InvalidPayload:
    """Return the error for a body that cannot be decoded."""
    return InvalidPayload(MALFORMED + detail)


class NoData(AppError):
    status, type, default_code = 400, "validation_error", "no_data"
    default_detail = (
        "No data found. Make sure to use a POST request when sending the payload "
        "in the body of the request."
    )


class InvalidProject(AppError):
    status, type, default_code = 400, "validation_error", "invalid_project"
    default_detail = "Invalid Project ID."

    def __init__(self) -> None:
        super().__init__(attr="project_id")


class Invalid(AppError):
    """A value of a management request is wrong; `attr` names the field, or is null."""

    status, type, default_code = 400, "validation_error", "invalid_input"
    default_detail = "Invalid input."


class ParseError(AppError):
    status, type, default_code = 400, "invalid_request", "parse_error"
    default_detail = "Malformed request."


class InvalidApiKey(AppError):
    status, type, default_code = 401, "authentication_error", "invalid_api_key"
    default_detail = (
        "Project API key invalid. You can find your project API key in the project settings."
    )


class MissingApiKey(InvalidApiKey):
    """A request without a project API key; clients treat it like one with a wrong key."""

    default_detail = (
        "API key not provided. The project API key is missing: find it in the project settings."
    )


class InvalidPersonalApiKey(AppError):
    status, type, default_code = 401, "authentication_error", "invalid_personal_api_key"
    default_detail = "Invalid Personal API key."


class ExpiredPersonalApiKey(InvalidPersonalApiKey):
    """A request with a key that was valid once; the text says so to its owner."""

    default_detail = "Personal API key has expired."


class NotAuthenticated(AppError):
    status, type, default_code = 401, "authentication_error", "not_authenticated"
    default_detail = "Authentication credentials were not provided."


class SessionEnded(NotAuthenticated):
    """A request whose session has ended, or whose cookie was never one of ours."""

    default_detail = "The session has ended. Sign in again."


class PermissionDenied(AppError):
    status, type, default_code = 403, "authentication_error", "permission_denied"
    default_detail = "You do not have permission to perform this action."


class ForgedRequest(PermissionDenied):
    """A request with the session's cookie that nothing shows to come from our own page."""

    default_code = "forged_request"
    default_detail = (
        "Requests with a session must come from the server's own pages, with the header "
        "X-Fanion-Console: 1."
    )


class FreshSignInRequired(PermissionDenied):
    default_code = "fresh_sign_in_required"
    default_detail = "Confirm your identity: sign in again, then repeat this request."


class SecondFactorRequired(AppError):
    """A sign-in whose first factor is right, and which still needs a code.

    Args:
        cookie: The `Set-Cookie` value with which the browser completes the sign-in.
    """

    status, type, default_code = 401, "authentication_error", "two_factor_required"
    default_detail = "Enter a code of your authenticator app, or a recovery code."

    def __init__(self, cookie: str) -> None:
        super().__init__()
        self._cookie = cookie

    def headers(self) -> tuple[tuple[str, str], ...]:
        return (*super().headers(), ("set-cookie", self._cookie), ("cache-control", "no-store"))


class SecondFactorSetupRequired(PermissionDenied):
    default_code = "two_factor_setup_required"
    default_detail = (
        "Your organization requires a second factor: set one up at "
        "/api/users/@me/two_factor_start_setup/ first."
    )


class NotFound(AppError):
    status, type, default_code = 404, "invalid_request", "not_found"
    default_detail = "Not found."


class MethodNotAllowed(AppError):
    status, type, default_code = 405, "invalid_request", "method_not_allowed"

    def __init__(self, method: str, allow: tuple[str, ...]) -> None:
        super().__init__(f'Method "{method}" not allowed.')
        # HEAD is refused if a GET changes something.
        self.allow = allow if method == "HEAD" else with_head(allow)

    def headers(self) -> tuple[tuple[str, str], ...]:
        return (("allow", ", ".join(self.allow)),)


def with_head(methods: Iterable[str]) -> tuple[str, ...]:
    """Add HEAD wherever GET is answered, unless HEAD is listed already."""
    listed = tuple(methods)
    return (*listed, "HEAD") if "GET" in listed and "HEAD" not in listed else listed


class BodyTooLarge(AppError):
    status, type, default_code = 413, "invalid_request", "payload_too_large"

    def __init__(self, bytes_max: int) -> None:
        super().__init__(f"The request body is larger than {bytes_max} bytes.")


class DecodedTooLarge(AppError):
    """A body whose decoded values are too large: few bytes can stand for many values."""

    status, type, default_code = 413, "invalid_request", "payload_too_large"

    def __init__(self, bytes_max: int) -> None:
        super().__init__(f"The values of the request body take up more than {bytes_max} bytes.")


class UnsupportedMediaType(AppError):
    status, type, default_code = 415, "invalid_request", "unsupported_media_type"

    def __init__(self, media_type: str) -> None:
        super().__init__(f'Unsupported media type "{media_type}" in request.')


class Throttled(AppError):
    """A request beyond a limit; the client may retry after `retry_after_s`.

    Source: capture.md section 10.
    """

    status, type, default_code = 429, "throttled_error", "throttled"

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(
            f"Request was throttled. Expected available in {retry_after_s} "
            f"second{'' if retry_after_s == 1 else 's'}."
        )
        self.retry_after_s = retry_after_s

    def headers(self) -> tuple[tuple[str, str], ...]:
        return (("retry-after", str(self.retry_after_s)),)


class ClientLeft(AppError):
    """A request whose client has disconnected; only logged, with nginx's status."""

    status, type, default_code = 499, "invalid_request", "client_left"
    default_detail = "The client has disconnected."


class QueryCancelled(AppError):
    """A query that another request of the project has cancelled."""

    status, type, default_code = 400, "invalid_request", "query_cancelled"
    default_detail = "The query was cancelled."


class Unavailable(AppError):
    """A store that is down or an accept log that is full; retry after `retry_after_s`."""

    status, type, default_code = 503, "server_error", "unavailable"
    default_detail = "The service is temporarily unavailable. Please retry."

    def __init__(
        self, detail: str | None = None, *, code: str | None = None, retry_after_s: int = 5
    ) -> None:
        super().__init__(detail, code=code)
        self.retry_after_s = retry_after_s

    def headers(self) -> tuple[tuple[str, str], ...]:
        return (("retry-after", str(self.retry_after_s)),)


class SchemaRefused(Exception):
    """A store whose schema this program cannot use; nothing in it was changed.

    The text is one line that says what to do.
    """


class SchemaTooNew(SchemaRefused):
    """A store changed by a newer version of this program in a way that this version does not know.

    Args:
        store: "records" or "events".
        found: The schema that the store has.
        oldest: The oldest schema whose program may still use the store; None if only its own may.
        known: This program's schema.
    """

    def __init__(self, store: str, found: str, oldest: str | None, known: str) -> None:
        super().__init__(
            f"the {store} have schema {found}, for programs of schema {oldest or found} and newer; "
            f"this program knows {known}. Start the newer version, or restore what was backed up "
            "before the upgrade."
        )


class SchemaTooOld(SchemaRefused):
    """A store of a version older than the first published one, which cannot be upgraded.

    Args:
        store: "records" or "events".
        found: The schema that the store has.
        oldest: The oldest schema that this program can upgrade.
    """

    def __init__(self, store: str, found: str, oldest: str) -> None:
        super().__init__(
            f"the {store} have schema {found}, which is older than {oldest}, that of version "
            "0.9.0. No earlier version was published, and its data cannot be upgraded. Start with "
            "a new data folder and new databases."
        )


class StartRefused(Exception):
    """A start that is refused because waiting will not help.

    The configured store is the wrong one, or a clock is off. The text is one line that names the
    setting.
    """
