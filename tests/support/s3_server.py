"""A stand-in for an S3-compatible server on loopback: it checks signatures and keeps objects.

It answers what backups ask, in small pages, and can be told to fail.
"""

import hashlib
import hmac
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

BUCKET, REGION = "bucket", "eu-test-1"
KEY_ID, SECRET = "AKIATEST", "secret/with+signs"
PAGE = 7  # keys in one answer to a list


@dataclass
class S3Server:
    """The server's content.

    Attributes:
        objects: By key.
        failing: The status with which writes are answered; 0 for none.
        refused: The number of requests whose signature was wrong.
        answers: Writes are not answered while it is cleared.
        unanswered: The number of writes that have waited for it.
    """

    port: int = 0
    objects: dict[str, bytes] = field(default_factory=dict)
    failing: int = 0
    refused: int = 0
    answers: threading.Event = field(default_factory=threading.Event)
    unanswered: int = 0

    def __post_init__(self) -> None:
        self.answers.set()

    def environment(self, secret: str = SECRET) -> dict[str, str]:
        return {
            "AWS_ACCESS_KEY_ID": KEY_ID,
            "AWS_SECRET_ACCESS_KEY": secret,
            "AWS_REGION": REGION,
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
        }


@contextmanager
def s3_server() -> Iterator[S3Server]:
    """Run a server until the end of the block."""
    state = S3Server()

    class Handler(_Handler):
        server_state = state

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield state
        finally:
            state.answers.set()
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_state: S3Server

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Write no log."""

    def do_PUT(self) -> None:
        if (content := self._accepted()) is None:
            return
        self.server_state.unanswered += not self.server_state.answers.is_set()
        self.server_state.answers.wait()
        if self.server_state.failing:
            self._answer(self.server_state.failing, _error("AccessDenied"))
            return
        self.server_state.objects[self._key()] = content
        self._answer(200, b"", {"ETag": f'"{hashlib.md5(content).hexdigest()}"'})

    def do_GET(self) -> None:
        if self._accepted() is None:
            return
        key = self._key()
        if not key:
            self._answer(200, self._list())
        elif (content := self.server_state.objects.get(key)) is None:
            self._answer(404, _error("NoSuchKey"))
        else:
            modified = "Mon, 30 Nov 2026 00:00:00 GMT"
            self._answer(200, content, {"ETag": '"1"', "Last-Modified": modified})

    def do_DELETE(self) -> None:
        if self._accepted() is not None:
            self.server_state.objects.pop(self._key(), None)
            self._answer(204, b"")

    def do_POST(self) -> None:
        """Delete the objects that the body names."""
        if (content := self._accepted()) is None:
            return
        keys = [
            element.text or ""
            for element in ElementTree.fromstring(content).iter()
            if element.tag.rpartition("}")[2] == "Key"
        ]
        for key in keys:
            self.server_state.objects.pop(key, None)
        deleted = "".join(f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in keys)
        self._answer(200, f"<DeleteResult>{deleted}</DeleteResult>".encode())

    def _list(self) -> bytes:
        query = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        prefix, after = query.get("prefix", ""), query.get("continuation-token", "")
        keys = sorted(
            key for key in self.server_state.objects if key.startswith(prefix) and key > after
        )
        entries = "".join(
            f"<Contents><Key>{escape(key)}</Key>"
            f"<LastModified>2026-11-30T00:00:00.000Z</LastModified><ETag>&quot;1&quot;</ETag>"
            f"<Size>{len(self.server_state.objects[key])}</Size></Contents>"
            for key in keys[:PAGE]
        )
        is_cut = len(keys) > PAGE
        token = keys[PAGE - 1] if is_cut else ""
        more = f"<NextContinuationToken>{escape(token)}</NextContinuationToken>" if is_cut else ""
        return (
            f"<ListBucketResult><IsTruncated>{str(is_cut).lower()}</IsTruncated>{entries}{more}"
            "</ListBucketResult>"
        ).encode()

    def _key(self) -> str:
        bucket, _, key = unquote(urlsplit(self.path).path).lstrip("/").partition("/")
        assert bucket == BUCKET
        return key

    def _accepted(self) -> bytes | None:
        """Return the body, or None after a request with a wrong signature was refused."""
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self._is_signed(content):
            return content
        self.server_state.refused += 1
        self._answer(403, _error("SignatureDoesNotMatch"))
        return None

    def _is_signed(self, content: bytes) -> bool:
        """Check the request's signature.

        Source: AWS, "Create a signed AWS API request", version 4.
        """
        method, _, fields = self.headers.get("Authorization", "").partition(" ")
        parts = dict(part.strip().partition("=")[::2] for part in fields.split(","))
        if method != "AWS4-HMAC-SHA256":
            return False
        key_id, _, scope = parts["Credential"].partition("/")
        payload = self.headers["x-amz-content-sha256"]
        if payload != "UNSIGNED-PAYLOAD" and payload != hashlib.sha256(content).hexdigest():
            return False
        names = parts["SignedHeaders"].split(";")
        url = urlsplit(self.path)
        query = sorted(parse_qsl(url.query, keep_blank_values=True))
        request = "\n".join(
            (
                self.command,
                url.path,
                "&".join(
                    f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in query
                ),
                *(f"{name}:{self.headers[name].strip()}" for name in names),
                "",
                ";".join(names),
                payload,
            )
        )
        hashed = hashlib.sha256(request.encode()).hexdigest()
        text = "\n".join(("AWS4-HMAC-SHA256", self.headers["x-amz-date"], scope, hashed))
        key = f"AWS4{SECRET}".encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        signature = hmac.digest(key, text.encode(), "sha256").hex()
        return key_id == KEY_ID and hmac.compare_digest(signature, parts["Signature"])

    def _answer(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _error(code: str) -> bytes:
    return f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
