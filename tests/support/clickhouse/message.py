"""Requests of ClickHouse's HTTP interface, read into a statement, and the bytes of its answers."""

import gzip
import io
import re
import zlib
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

import brotli  # type: ignore[import-untyped]  # ships no types
import lz4.frame  # type: ignore[import-untyped]  # ships no types
import multipart  # type: ignore[import-untyped]  # ships no types
import zstandard

FORM_BYTES_MAX = 2**30

# The parameters of a request that are not settings of the engine.
_OF_TRANSPORT = frozenset(
    (
        "query", "database", "query_id", "user", "password", "quota_key", "role",
        "session_id", "session_timeout", "session_check", "client_protocol_version",
        "enable_http_compression", "compress", "decompress", "buffer_size",
        "wait_end_of_query", "send_progress_in_http_headers",
        "http_headers_progress_interval_ms", "default_format",
    )
)  # fmt: skip

# Matches `INSERT INTO t (a, b) FORMAT Native`, followed by the data after one end of line.
_INSERT_WITH_DATA = re.compile(
    rb"\s*(INSERT\s+INTO\s+(?:[^'\"`()]|`[^`]*`|\([^()]*\))*?)\s+FORMAT\s+(\w+)[ \t]*(?:\r?\n|$)",
    re.IGNORECASE,
)

COMPRESS: Mapping[str, Callable[[bytes], bytes]] = {
    "lz4": lz4.frame.compress,
    "zstd": zstandard.compress,
    "br": lambda data: brotli.compress(data, quality=1),
    "gzip": lambda data: gzip.compress(data, 1),
    "deflate": lambda data: zlib.compress(data, 1),
}
_DECOMPRESS: Mapping[str, Callable[[bytes], bytes]] = {
    "lz4": lz4.frame.decompress,
    "zstd": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
    "br": brotli.decompress,
    "gzip": gzip.decompress,
    "deflate": zlib.decompress,
}


@dataclass(frozen=True)
class Insert:
    """A statement with its data.

    Attributes:
        statement: Without its FORMAT clause.
    """

    statement: str
    format: str
    data: bytes


@dataclass(frozen=True)
class Message:
    """A request.

    Attributes:
        text: The statement, with what follows it.
        parameters: By name, without `param_`.
        settings: Settings of the engine.
        encoding: The encoding of the answer; "" for none.
    """

    text: bytes
    parameters: Mapping[str, str]
    settings: Mapping[str, str]
    database: str
    query_id: str
    encoding: str
    user: str

    @property
    def insert(self) -> Insert | None:
        """The insert, if the statement is followed by data in the format that it names."""
        match = _INSERT_WITH_DATA.match(self.text)
        if match is None:
            return None
        return Insert(match[1].decode(), match[2].decode(), self.text[match.end() :])


def read_message(target: str, headers: Mapping[str, str], body: bytes) -> Message:
    """Parse a request.

    Raises:
        ValueError: The encoding of the body is not known.
    """
    parameters = dict(parse_qsl(urlsplit(target).query, keep_blank_values=True))
    body = _decompressed(body, headers.get("Content-Encoding", ""))
    kind = headers.get("Content-Type", "")
    if kind.startswith(("multipart/form-data", "application/x-www-form-urlencoded")):
        parameters |= _form(kind, body)
        body = b""
    head = parameters.get("query", "").encode()
    return Message(
        head + b"\n" + body if head and body else head or body,
        {name[6:]: value for name, value in parameters.items() if name.startswith("param_")},
        {name: value for name, value in parameters.items() if _is_setting(name)},
        parameters.get("database", "") or headers.get("X-ClickHouse-Database", "") or "default",
        parameters.get("query_id", ""),
        _answer_encoding(parameters, headers),
        _user(headers.get("Authorization", "")),
    )


def _user(authorization: str) -> str:
    kind, _, login = authorization.partition(" ")
    return b64decode(login).decode().partition(":")[0] if kind == "Basic" else ""


def _is_setting(name: str) -> bool:
    return name not in _OF_TRANSPORT and not name.startswith("param_")


def _form(kind: str, body: bytes) -> dict[str, str]:
    environ = {
        "REQUEST_METHOD": "POST",
        "CONTENT_TYPE": kind,
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
    }
    limits = {"spool_limit": FORM_BYTES_MAX, "memory_limit": FORM_BYTES_MAX, "part_limit": 10_000}
    fields, _ = multipart.parse_form_data(environ, strict=True, ignore_errors=False, **limits)
    return dict(fields.items())


def _decompressed(body: bytes, encoding: str) -> bytes:
    if not encoding or encoding == "identity":
        return body
    if encoding not in _DECOMPRESS:
        raise ValueError(f"Unknown Content-Encoding {encoding}")
    return _DECOMPRESS[encoding](body)


def _answer_encoding(parameters: Mapping[str, str], headers: Mapping[str, str]) -> str:
    """Return the first encoding that the client accepts, if it asks for compression."""
    if parameters.get("enable_http_compression") != "1":
        return ""
    accepted = (name.strip() for name in headers.get("Accept-Encoding", "").split(","))
    return next((name for name in accepted if name in COMPRESS), "")
