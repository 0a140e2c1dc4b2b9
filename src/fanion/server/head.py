"""The head of a request: parsed by llhttp, and checked by the rules that llhttp leaves to servers.

Source: RFC 9110 sections 4.2, 7.2, 9.1, 10.1.1; RFC 9112 sections 2.3, 3.2, 6.1 and 6.3.
"""

import re
from dataclasses import dataclass
from ipaddress import IPv6Address

import httptools

from fanion.server.errors import (
    HeadTooLarge,
    HttpError,
    MalformedRequest,
    NotImplementedHere,
    TargetTooLong,
    VersionNotSupported,
)

HEAD_BYTES_MAX = 64 * 1024
END_OF_HEAD = b"\r\n\r\n"

# The methods that some path answers, and TRACE, which each path refuses with 405.
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"})

_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?= |$)")
_ABSOLUTE = re.compile(rb"[Hh][Tt][Tt][Pp][Ss]?://([^/?@]+)([/?].*)?", re.DOTALL)
# RFC 3986 section 3.2.2
_HOST = re.compile(
    r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)(?::[0-9]*)?"
)


class HeaderFields(dict[str, str]):
    """The headers of a request, with names in lower case.

    A header that is sent more than once is one list with commas.

    Source: RFC 9110 section 5.3.
    """

    def add(self, name: str, value: str) -> None:
        if name in self:
            value = f"{self[name]}, {value}"
        self[name] = value


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The parsed head of a request.

    Attributes:
        path: As sent, percent-encoded, without the query; `*` for the whole server.
        query: As sent, without its question mark.
        http_version: "1.1" or "1.0".
        keep_alive: Whether the client wants to send more requests on the connection.
        expects_continue: Whether the client waits for 100 Continue before it sends the body.
        body_bytes: The length of the body; None if it is chunked.
    """

    method: str
    path: str
    query: str
    http_version: str
    headers: HeaderFields
    keep_alive: bool
    expects_continue: bool
    body_bytes: int | None


class _HeadFields:
    """The callbacks of llhttp.

    They are apart from the object that holds the parser, so that there is no reference cycle:
    heads of clients that disconnect are released at once.
    """

    def __init__(self) -> None:
        self.target = b""
        self.headers = HeaderFields()
        self.is_complete = False

    def on_url(self, part: bytes) -> None:
        self.target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.add(name.decode("latin-1").lower(), value.decode("latin-1").strip(" \t"))

    def on_headers_complete(self) -> None:
        self.is_complete = True


class HeadParser:
    """A parser of one head, from any number of pieces.

    Attributes:
        raw: The bytes received so far.
    """

    def __init__(self) -> None:
        self.raw = bytearray()
        self._fields = _HeadFields()
        self._parser: httptools.HttpRequestParser | None = None

    def feed(self, data: bytes) -> bytes | None:
        """Parse a piece, and return the bytes after the head, or None while it is incomplete.

        Raises:
            HttpError: The head is malformed or too large.
        """
        before = len(self.raw)
        end = _end_of_head(self.raw, data)
        used = data if end is None else data[: end - before]
        if before + len(used) > HEAD_BYTES_MAX:
            raise self._too_large(used)
        self.raw += used
        self._parse(used)
        return None if end is None else data[end - before :]

    def head(self) -> RequestHead:
        """Return the complete head.

        Raises:
            HttpError: The head is malformed or not supported.
        """
        parser, fields, headers = self._parser, self._fields, self._fields.headers
        if parser is None or not fields.is_complete:
            raise MalformedRequest
        method = parser.get_method()
        if not self.raw.startswith(b"%b %b HTTP/" % (method, fields.target)):
            raise MalformedRequest
        name = method.decode("latin-1")
        version = _version_of(parser.get_http_version())
        _require_method(name)
        _require_host(version, headers)
        target = _origin_form(fields.target, name, headers)
        path, _, query = target.decode("latin-1").partition("?")
        return RequestHead(
            name,
            path,
            query,
            version,
            headers,
            keep_alive=_keep_alive(version, headers),
            expects_continue=_expects_continue(version, headers),
            body_bytes=_body_bytes(version, headers),
        )

    def _parse(self, data: bytes) -> None:
        if self._parser is None:
            self._parser = httptools.HttpRequestParser(self._fields)
            self._parser.set_dangerous_leniencies(lenient_version=True)  # `_version_of` checks it
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # no upgrade is supported, so the request is answered as HTTP/1.1
        except httptools.HttpParserInvalidMethodError:
            if _is_unknown_method(bytes(self.raw)):
                raise NotImplementedHere("The method of the request is not implemented.") from None
            raise MalformedRequest from None
        except httptools.HttpParserError:
            raise MalformedRequest from None

    def _too_large(self, more: bytes) -> HttpError:
        if b"\r\n" in self.raw or b"\r\n" in more[:HEAD_BYTES_MAX]:
            return HeadTooLarge(HEAD_BYTES_MAX)
        return TargetTooLong(HEAD_BYTES_MAX)


def _end_of_head(known: bytearray, data: bytes) -> int | None:
    """Return the end of the head, counted from the start of `known`; None if `data` lacks it."""
    before = len(known)
    if before:
        seam = bytes(known[-3:]) + data[:3]
        position = seam.find(END_OF_HEAD)
        if position >= 0:
            return before - min(before, 3) + position + len(END_OF_HEAD)
    position = data.find(END_OF_HEAD)
    return None if position < 0 else before + position + len(END_OF_HEAD)


def _require_method(method: str) -> None:
    if method not in METHODS:
        raise NotImplementedHere(f'Method "{method}" is not implemented.')


def _is_unknown_method(raw: bytes) -> bool:
    """Return whether a text that llhttp refused begins with a well-formed, unknown method."""
    return _TOKEN.match(raw) is not None


def _version_of(text: str) -> str:
    """Return the version to answer with: a later minor version than 1 is answered as 1.1.

    Raises:
        MalformedRequest: The version is 0.x.
        VersionNotSupported: The major version is later.
    """
    major, _, minor = text.partition(".")
    if major == "1":
        return "1.0" if minor == "0" else "1.1"
    raise MalformedRequest if major == "0" else VersionNotSupported


def _origin_form(target: bytes, method: str, headers: HeaderFields) -> bytes:
    """Return path and query of a target; the host of an absolute target replaces the header.

    Raises:
        MalformedRequest: The target has no valid form.
    """
    if b"#" in target:
        raise MalformedRequest("The request target must not have a fragment.")
    if target[:1] == b"/":
        return target
    if target == b"*":
        if method != "OPTIONS":
            raise MalformedRequest("The request target * is allowed only with OPTIONS.")
        return target
    return _origin_form_of_absolute(target, headers)


def _origin_form_of_absolute(target: bytes, headers: HeaderFields) -> bytes:
    matched = _ABSOLUTE.fullmatch(target)
    if matched is None:
        raise MalformedRequest("The request target must be a path or an http address with a host.")
    headers["host"] = _well_formed(matched[1].decode("latin-1"))
    rest = matched[2] or b"/"
    return rest if rest[:1] == b"/" else b"/" + rest


def _require_host(version: str, headers: HeaderFields) -> None:
    host = headers.get("host")
    if host is None:
        if version == "1.1":
            raise MalformedRequest("The request has no Host header.")
        return
    _well_formed(host)


def _well_formed(host: str) -> str:
    matched = _HOST.fullmatch(host)  # two hosts are joined with a blank, which none has
    if matched is None or not _is_address(matched["v6"]):
        raise MalformedRequest("Host must be one host with an optional port.")
    return host


def _is_address(v6: str | None) -> bool:
    if v6 is None:
        return True
    try:
        IPv6Address(v6)
    except ValueError:
        return False
    return True


def _body_bytes(version: str, headers: HeaderFields) -> int | None:
    """Return the length of the body; None if it is chunked.

    Raises:
        MalformedRequest: The headers contradict each other or are not valid.
        NotImplementedHere: The transfer coding is not implemented.
    """
    coding = headers.get("transfer-encoding")
    if coding is None:
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()):
            raise MalformedRequest("Content-Length must be a decimal number.")
        return int(length)
    codings = [name.strip().lower() for name in coding.split(",")]
    if version == "1.0" or "content-length" in headers:
        raise MalformedRequest(
            "Transfer-Encoding is allowed only in HTTP/1.1 and without Content-Length."
        )
    if codings[-1] != "chunked" or codings.count("chunked") > 1:
        raise MalformedRequest("Transfer-Encoding must have chunked once, at its end.")
    if len(codings) > 1:
        raise NotImplementedHere("Transfer-Encoding other than chunked is not implemented.")
    return None


def _expects_continue(version: str, headers: HeaderFields) -> bool:
    """Return whether the client waits for 100 Continue.

    Source: RFC 9110 section 10.1.1, which excludes HTTP/1.0.
    """
    expected = headers.get("expect")
    if expected is None or version == "1.0":
        return False
    return "100-continue" in [each.strip().lower() for each in expected.split(",")]


def _keep_alive(version: str, headers: HeaderFields) -> bool:
    """Return whether the client wants to keep the connection.

    Source: RFC 9112 section 9.3.
    """
    options = [each.strip().lower() for each in headers.get("connection", "").split(",")]
    return "close" not in options and (version == "1.1" or "keep-alive" in options)


def path_of(request: bytes) -> str:
    """Return the path before the head is parsed; it must equal `RequestHead.path` in each process.

    Args:
        request: The beginning of the request, with the whole first line, which may be malformed.
    """
    request = request.lstrip(b"\r\n")
    start = request.find(b" ") + 1
    target = request[start : request.find(b" ", start)]
    path = target.partition(b"?")[0]
    if path[:1] != b"/" and b"://" in path:
        path = b"/" + path.partition(b"://")[2].partition(b"/")[2]
    return path.decode("latin-1")
