"""The head of a request, and the rules it follows beyond the syntax that llhttp checks.

source: RFC 9110 sections 4.2, 7.2, 9.1, 10.1.1; RFC 9112 sections 2.3, 3.2, 6.1 and 6.3
"""

import re
from dataclasses import dataclass
from ipaddress import IPv6Address

from fanion.server.errors import MalformedRequest, NotImplementedHere, VersionNotSupported

# Those that some path answers, and TRACE, which each path refuses by name.
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"})

_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?= |$)")
_ABSOLUTE = re.compile(rb"[Hh][Tt][Tt][Pp][Ss]?://([^/?@]+)([/?].*)?", re.DOTALL)
# source: RFC 3986 section 3.2.2
_HOST = re.compile(
    r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)(?::[0-9]*)?"
)


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
    query:            as sent, without its question mark
    http_version:     "1.1" or "1.0"
    keep_alive:       whether the client wants to ask more on the same connection
    expects_continue: whether it wants to be asked for the body
    body_bytes:       of the body that follows; None when it comes in chunks
    """

    method: str
    path: str
    query: str
    http_version: str
    headers: Headers
    keep_alive: bool
    expects_continue: bool
    body_bytes: int | None


def require_method(method: str) -> None:
    """raises: NotImplementedHere"""
    if method not in METHODS:
        raise NotImplementedHere(f'Method "{method}" is not implemented.')


def is_unknown_method(raw: bytes) -> bool:
    """Whether what llhttp refused begins with a well-formed method that it does not know."""
    return _TOKEN.match(raw) is not None


def version_of(given: str) -> str:
    """A later minor version is answered as the last one that is known.

    raises: MalformedRequest, VersionNotSupported
    """
    major, _, minor = given.partition(".")
    if major == "1":
        return "1.0" if minor == "0" else "1.1"
    raise MalformedRequest if major == "0" else VersionNotSupported


def origin_form(target: bytes, method: str, headers: Headers) -> bytes:
    """Path and query of a target in whichever form; the host of an absolute one goes before
    the header's.

    raises: MalformedRequest
    """
    if b"#" in target:
        raise MalformedRequest("The request target has a fragment.")
    if target[:1] == b"/":
        return target
    if target == b"*":
        if method != "OPTIONS":
            raise MalformedRequest("The request target * is for OPTIONS alone.")
        return target
    return _origin_form_of_absolute(target, headers)


def _origin_form_of_absolute(target: bytes, headers: Headers) -> bytes:
    matched = _ABSOLUTE.fullmatch(target)
    if matched is None:
        raise MalformedRequest("The request target must be a path or an http address with a host.")
    headers["host"] = _well_formed(matched[1].decode("latin-1"))
    rest = matched[2] or b"/"
    return rest if rest[:1] == b"/" else b"/" + rest


def require_host(version: str, headers: Headers) -> None:
    """raises: MalformedRequest"""
    host = headers.get("host")
    if host is None:
        if version == "1.1":
            raise MalformedRequest("The request has no Host header.")
        return
    _well_formed(host)


def _well_formed(host: str) -> str:
    matched = _HOST.fullmatch(host)  # two of them are joined with a blank, which none has
    if matched is None or not _is_address(matched["v6"]):
        raise MalformedRequest("Host is not one host with an optional port.")
    return host


def _is_address(v6: str | None) -> bool:
    if v6 is None:
        return True
    try:
        IPv6Address(v6)
    except ValueError:
        return False
    return True


def body_bytes(version: str, headers: Headers) -> int | None:
    """Of the body that follows the head; None when it comes in chunks.

    raises: MalformedRequest, NotImplementedHere
    """
    coding = headers.get("transfer-encoding")
    if coding is None:
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()):
            raise MalformedRequest("Content-Length is not a number.")
        return int(length)
    codings = [name.strip().lower() for name in coding.split(",")]
    if version == "1.0" or "content-length" in headers:
        raise MalformedRequest("Transfer-Encoding goes with HTTP/1.1 and without Content-Length.")
    if codings[-1] != "chunked" or codings.count("chunked") > 1:
        raise MalformedRequest("Transfer-Encoding must end with chunked, once.")
    if len(codings) > 1:
        raise NotImplementedHere("Transfer-Encoding other than chunked is not implemented.")
    return None


def expects_continue(version: str, headers: Headers) -> bool:
    """source: RFC 9110 section 10.1.1, by which HTTP/1.0 is not meant"""
    expected = headers.get("expect")
    if expected is None or version == "1.0":
        return False
    return "100-continue" in [each.strip().lower() for each in expected.split(",")]


def keep_alive(version: str, headers: Headers) -> bool:
    """source: RFC 9112 section 9.3"""
    options = [each.strip().lower() for each in headers.get("connection", "").split(",")]
    return "close" not in options and (version == "1.1" or "keep-alive" in options)
