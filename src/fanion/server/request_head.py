"""The head of a request: what it asks, and what it says of its body."""

from dataclasses import dataclass


class Headers(dict[str, str]):
    """Names in lower case; what is sent more than once is one list with commas.

    source: RFC 9110 section 5.3
    """

    def add(self, name: str, value: str) -> None:
        if name in self:
            value = f"{self[name]}, {value}"
        self[name] = value


@dataclass(frozen=True, slots=True)
class RequestHead:
    """path:             as sent, percent-encoded, without the query; `*` for the whole server
    http_version:     "1.1" or "1.0"
    keep_alive:       whether the client wants to ask more on the same connection
    expects_continue: whether it wants to be asked for the body
    body_bytes:       of the body that follows; None when it comes in chunks
    """

    method: str
    path: str
    query_string: str
    http_version: str
    headers: Headers
    keep_alive: bool
    expects_continue: bool
    body_bytes: int | None
