"""An identity provider for tests, on a loopback port.

It signs anything it is told to, and can be slow, garbled or too large.
"""

import asyncio
import base64
import hashlib
import hmac
import socket
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

Json = dict[str, Any]

CLIENT_ID = "fanion"
CLIENT_SECRET = "a secret: with +signs/"
CODE = "the-code"
RECEIVED_S = 60


async def on_loopback(_: str, __: int) -> Sequence[str]:
    """Resolve any name to this machine, without a name server."""
    return ["127.0.0.1"]


@dataclass(frozen=True)
class ReceivedRequest:
    method: str
    path: str
    headers: dict[str, str]
    form: dict[str, str]


@cache
def first_key() -> RSAKey:
    """Return the key of all providers of a test run; making one takes longer than signing in."""
    return RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})


@dataclass
class FakeProvider:
    """The provider.

    Attributes:
        key: The key of its tokens; `published` are the keys that it shows.
        claims: The claims of the next ID tokens, changed by tests.
        info: The answer about the user.
        answers: Raw HTTP answers by path, instead of its own.
        hold: The paths whose answers wait until `let_go` is set.
    """

    now: Callable[[], datetime]
    port: int = 0
    key: RSAKey = field(default_factory=first_key)
    algorithm: str = "RS256"
    metadata: Json = field(default_factory=dict)
    claims: Json = field(default_factory=dict)
    info: Json = field(default_factory=dict)
    answers: dict[str, bytes] = field(default_factory=dict)
    hold: set[str] = field(default_factory=set)
    let_go: asyncio.Event = field(default_factory=asyncio.Event)
    requests: list[ReceivedRequest] = field(default_factory=list)
    published: list[Json] = field(default_factory=list)
    token: str | None = None
    expected: Json = field(default_factory=dict)
    codes: set[str] = field(default_factory=set)
    _came: asyncio.Condition = field(default_factory=asyncio.Condition)

    def __post_init__(self) -> None:
        self.published = [dict(self.key.as_dict(private=False))]

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def authorize(self, url: str, **claims: Any) -> str:
        """Return what the browser brings back after the user has agreed: the query of the callback.

        Args:
            claims: Claims of the ID token that add to or replace the ordinary ones.
        """
        query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert query["code_challenge_method"] == "S256"
        assert query["client_id"] == CLIENT_ID
        self.expected = query
        self.codes = {CODE}
        now = int(self.now().timestamp())
        self.claims = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "sub": "ada",
            "nonce": query["nonce"],
            "iat": now,
            "exp": now + 300,
            "auth_time": now,
        } | claims
        return f"?code={CODE}&state={query['state']}"

    def sign(self, claims: Json, **header: Any) -> str:
        head = {"alg": self.algorithm, "kid": self.key.kid} | header
        named = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(head, named, self.key, algorithms=[head["alg"]])

    def count_requests(self, path: str) -> int:
        return sum(request.path == path for request in self.requests)

    async def received(self, path: str, number: int = 1) -> None:
        """Wait until the path was requested this often."""
        async with asyncio.timeout(RECEIVED_S), self._came:
            await self._came.wait_for(lambda: self.count_requests(path) >= number)

    def configuration(self) -> Json:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/auth",
            "token_endpoint": f"{self.issuer}/token",
            "userinfo_endpoint": f"{self.issuer}/me",
            "jwks_uri": f"{self.issuer}/keys",
            "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
        } | self.metadata

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await _read(reader)
            async with self._came:
                self.requests.append(request)
                self._came.notify_all()
            if request.path in self.hold:
                await self.let_go.wait()
            writer.write(self.answers.get(request.path) or json_answer(*self._answer(request)))
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has hung up
        finally:
            writer.close()

    def _answer(self, request: ReceivedRequest) -> tuple[int, Any]:
        match request.path:
            case "/.well-known/openid-configuration":
                return 200, self.configuration()
            case "/keys":
                return 200, {"keys": self.published}
            case "/me":
                return 200, self.info
            case "/token":
                return self._tokens(request)
        return 404, {"error": "not_found"}

    def _tokens(self, request: ReceivedRequest) -> tuple[int, Any]:
        """Return tokens for a code.

        Source: RFC 6749 section 4.1.3; RFC 7636 section 4.6.
        """
        pair = base64.b64decode(request.headers.get("authorization", "").removeprefix("Basic "))
        if pair.decode() != "fanion:a%20secret%3A%20with%20%2Bsigns%2F":
            return 401, {"error": "invalid_client"}
        digest = hashlib.sha256(request.form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        is_known = (
            request.form["code"] in self.codes and challenge == self.expected["code_challenge"]
        )
        if not is_known or request.form["redirect_uri"] != self.expected["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        self.codes.clear()
        token = self.token or self.sign(self.claims)
        return 200, {"access_token": "an-access-token", "token_type": "Bearer", "id_token": token}


def json_answer(status: int, value: Any) -> bytes:
    return raw_answer(msgspec.json.encode(value), status)


def raw_answer(body: bytes, status: int = 200, headers: str = "") -> bytes:
    head = f"HTTP/1.1 {status} Said\r\ncontent-length: {len(body)}\r\n{headers}\r\n"
    return head.encode() + body


async def _read(reader: asyncio.StreamReader) -> ReceivedRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {
        name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:-2])
    }
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
    method, path, _ = head[0].split(" ")
    return ReceivedRequest(method, path.partition("?")[0], headers, form)


@asynccontextmanager
async def open_provider(now: Callable[[], datetime]) -> AsyncGenerator[FakeProvider]:
    provider = FakeProvider(now)
    server = await asyncio.start_server(provider.answer, "127.0.0.1", 0)
    sock: socket.socket = server.sockets[0]
    provider.port = sock.getsockname()[1]
    try:
        yield provider
    finally:
        provider.let_go.set()
        server.close()
        await server.wait_closed()


def unsigned(claims: Json, head: Json | None = None) -> str:
    """Return a token without a signature.

    Args:
        head: Names the algorithm `none` by default.
    """
    parts = [msgspec.json.encode(part) for part in (head or {"alg": "none"}, claims)]
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts) + "."


def signed_with_public_key(claims: Json, key: RSAKey, algorithm: str = "HS256") -> str:
    """Return a token signed by an algorithm of shared keys, with the public key as that key."""
    head = {"alg": algorithm, "kid": key.kid}
    start = unsigned(claims, head).rstrip(".")
    digest = {"HS256": "sha256", "HS512": "sha512"}[algorithm]
    signature = hmac.digest(key.as_pem(private=False), start.encode(), digest)
    return f"{start}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def elliptic_key(kid: str) -> ECKey:
    return ECKey.generate_key("P-256", {"kid": kid, "use": "sig"})
