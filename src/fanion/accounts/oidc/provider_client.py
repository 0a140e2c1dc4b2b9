"""The identity provider over HTTP: its metadata, its keys, and the exchange of codes for tokens.

Each request ends within TIMEOUT_S and ANSWER_BYTES_MAX, connects to addresses that a `Resolve`
found, and uses no cookies, redirects, proxies or passwords from the environment.
"""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote, urlencode

import httpx
import msgspec

from fanion import __version__
from fanion.accounts.oidc.errors import (
    ProviderInvalid,
    ProviderUnavailable,
    SignInDenied,
    TokenInvalid,
)
from fanion.accounts.oidc.id_token import (
    TOKEN_CHARS_MAX,
    Expected,
    Keys,
    UnknownKey,
    read_id_token,
    read_keys,
)
from fanion.accounts.oidc.metadata import WELL_KNOWN, ProviderMetadata, read_metadata
from fanion.accounts.oidc.model import OidcSettings
from fanion.errors import AppError

TIMEOUT_S = 5.0
ANSWER_BYTES_MAX = 256 * 1024
KEPT_S = 3600.0  # of metadata and keys
FAILURE_PAUSE_S = 2.0  # before metadata or keys are requested again after a failure
KEYS_AGAIN_S = 30.0  # between two reads of the keys because of unknown keys
REQUESTS_MAX = 32  # concurrent requests to the provider
ADDRESSES_MAX = 4  # more addresses of a name are not tried

V = TypeVar("V")
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


@dataclass(frozen=True, slots=True)
class Tokens:
    id_token: str
    access_token: str


class KeptValue(Generic[V]):
    """A value of the provider that is kept for KEPT_S.

    Concurrent callers wait for one read. After a failed read all callers get its error for
    FAILURE_PAUSE_S.

    Args:
        clock: Monotonic clock, in seconds.
    """

    def __init__(self, read: Callable[[], Awaitable[V]], clock: Callable[[], float]) -> None:
        self._read = read
        self._clock = clock
        self._value: V | None = None
        self._error: AppError | None = None
        self._read_at = 0.0
        self._reading: asyncio.Task[V] | None = None

    async def get(self) -> V:
        """Return the value, reading it if necessary.

        Raises:
            ProviderUnavailable: The provider does not answer.
            ProviderInvalid: The provider's response cannot be used.
        """
        age_s = self._clock() - self._read_at
        if self._value is not None and age_s < KEPT_S:
            return self._value
        if self._error is not None and age_s < FAILURE_PAUSE_S:
            raise type(self._error)(self._error.detail)
        return await self._read_again()

    async def get_newer(self, at_least_s: float) -> V:
        """Read the value again, unless it was read less than `at_least_s` ago."""
        if self._clock() - self._read_at < at_least_s:
            return await self.get()
        return await self._read_again()

    async def _read_again(self) -> V:
        if self._reading is None:
            self._reading = asyncio.create_task(self._read_once())
            self._reading.add_done_callback(_retrieve_error)
        # The read goes on if one of its callers is cancelled.
        return await asyncio.shield(self._reading)

    async def _read_once(self) -> V:
        self._error = None
        try:
            self._value = await self._read()
            return self._value
        except AppError as error:
            self._value, self._error = None, error
            raise
        finally:
            self._read_at, self._reading = self._clock(), None


class Provider:
    """A client of the identity provider.

    Args:
        resolve: Looks up host names.
        clock: Monotonic clock, in seconds.
        timeout_s: For a whole request.
    """

    def __init__(
        self,
        settings: OidcSettings,
        resolve: Resolve,
        clock: Callable[[], float],
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._settings = settings
        self._resolve = resolve
        self._timeout_s = timeout_s
        self._metadata = KeptValue(self._read_metadata, clock)
        self._keys = KeptValue(self._read_keys, clock)
        self._transport: httpx.AsyncHTTPTransport | None = None
        self._sending = 0

    async def metadata(self) -> ProviderMetadata:
        """Return the provider's metadata.

        Raises:
            ProviderUnavailable: The provider does not answer.
            ProviderInvalid: The provider's response cannot be used.
        """
        return await self._metadata.get()

    async def redeem(self, code: str, verifier: str, redirect_uri: str) -> Tokens:
        """Exchange an authorization code for tokens.

        Raises:
            ProviderUnavailable: The provider does not answer.
            ProviderInvalid: The provider's response cannot be used.
            SignInDenied: The code is not valid, or was used before.
        """
        metadata, settings = await self.metadata(), self._settings
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
        }
        headers = {"content-type": "application/x-www-form-urlencoded"}
        if settings.client_secret and not metadata.sends_secret:
            headers["authorization"] = _basic_authorization(
                settings.client_id, settings.client_secret
            )
        else:
            fields["client_id"] = settings.client_id
            if settings.client_secret:
                fields["client_secret"] = settings.client_secret
        url, body = metadata.token_endpoint, urlencode(fields).encode()
        return _read_tokens(*await self._send("POST", url, headers, body))

    async def verify(self, id_token: str, expected: Expected) -> Mapping[str, Any]:
        """Verify an ID token and return its claims.

        Raises:
            TokenInvalid: The token does not prove who the user is.
            ProviderUnavailable: The provider does not answer.
            ProviderInvalid: The provider's response cannot be used.
        """
        algorithms = (await self.metadata()).algorithms
        try:
            return read_id_token(id_token, await self._keys.get(), algorithms, expected)
        except UnknownKey:
            keys = await self._keys.get_newer(KEYS_AGAIN_S)
        try:
            return read_id_token(id_token, keys, algorithms, expected)
        except UnknownKey:
            raise TokenInvalid(
                "The ID token is signed by a key that the provider does not publish."
            ) from None

    async def user_info(self, access_token: str, subject: str) -> Mapping[str, Any]:
        """Return further claims; none if the provider has no endpoint for them.

        Raises:
            ProviderUnavailable: The provider does not answer.
            ProviderInvalid: The provider's response cannot be used.
        """
        endpoint = (await self.metadata()).userinfo_endpoint
        if endpoint is None:
            return {}
        headers = {"authorization": f"Bearer {access_token}"}
        status, body = await self._send("GET", endpoint, headers)
        claims = _decode_object(body) if status == 200 else None
        # OpenID Connect Core section 5.3.2.
        if claims is None or claims.get("sub") != subject:
            raise ProviderInvalid("The identity provider's user info cannot be used.")
        return claims

    async def close(self) -> None:
        if self._transport is not None:
            await self._transport.aclose()

    async def _read_metadata(self) -> ProviderMetadata:
        issuer = self._settings.issuer
        return read_metadata(await self._get(issuer.rstrip("/") + WELL_KNOWN), issuer)

    async def _read_keys(self) -> Keys:
        return read_keys(await self._get((await self.metadata()).jwks_uri))

    async def _get(self, url: str) -> bytes:
        status, body = await self._send("GET", url, {})
        if status >= 500:
            raise ProviderUnavailable
        if status != 200:
            raise ProviderInvalid(
                f"The identity provider answers {status} instead of its configuration or its keys."
            )
        return body

    async def _send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> tuple[int, bytes]:
        """Return status and body of a response.

        Raises:
            ProviderUnavailable: The provider does not answer.
            ProviderInvalid: The provider's response cannot be used.
        """
        if self._sending >= REQUESTS_MAX:
            raise ProviderUnavailable("Too many people are signing in. Please try again.")
        self._sending += 1
        try:
            async with asyncio.timeout(self._timeout_s):
                target = httpx.URL(url)
                port = target.port or (443 if target.scheme == "https" else 80)
                addresses = (await self._resolve(target.raw_host.decode(), port))[:ADDRESSES_MAX]
                for address in addresses[:-1]:
                    try:
                        return await self._send_to(address, method, target, headers, body)
                    except (httpx.ConnectError, httpx.ConnectTimeout):
                        continue
                if addresses:
                    return await self._send_to(addresses[-1], method, target, headers, body)
        except (TimeoutError, OSError, httpx.TransportError):
            pass
        except httpx.InvalidURL:
            raise ProviderInvalid(
                "The identity provider's configuration has an address that cannot be used."
            ) from None
        finally:
            self._sending -= 1
        raise ProviderUnavailable

    async def _send_to(
        self,
        address: str,
        method: str,
        target: httpx.URL,
        headers: Mapping[str, str],
        body: bytes,
    ) -> tuple[int, bytes]:
        request = httpx.Request(
            method,
            target.copy_with(host=address),
            headers={
                "host": target.netloc.decode(),
                "user-agent": f"Fanion/{__version__}",
                "accept": "application/json",
                # Nothing is decompressed: a few compressed bytes can stand for very many.
                "accept-encoding": "identity",
                "connection": "close",
                **headers,
            },
            content=body,
            extensions={
                "timeout": httpx.Timeout(self._timeout_s).as_dict(),
                "sni_hostname": target.raw_host.decode(),
            },
        )
        if self._transport is None:
            # In a thread, because reading the bundle of certificates takes 40 ms.
            self._transport = await asyncio.to_thread(_open_transport)
        response = await self._transport.handle_async_request(request)
        try:
            return response.status_code, await _read_bounded(response)
        finally:
            await response.aclose()


def _retrieve_error(reading: "asyncio.Task[V]") -> None:
    """Retrieve the error of a read, because no caller may be left to do so."""
    if not reading.cancelled():
        reading.exception()


async def _read_bounded(response: httpx.Response) -> bytes:
    """Return the body, or raise ProviderInvalid if it is too large or compressed."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ProviderInvalid("The identity provider compresses its answer without being asked to.")
    received = bytearray()
    async for piece in response.aiter_raw():
        received += piece
        if len(received) > ANSWER_BYTES_MAX:
            raise ProviderInvalid(
                f"The identity provider's answer is larger than {ANSWER_BYTES_MAX} bytes."
            )
    return bytes(received)


def _read_tokens(status: int, body: bytes) -> Tokens:
    """Parse the response to an exchange of a code (RFC 6749 sections 5.1 and 5.2)."""
    if status >= 500:
        raise ProviderUnavailable
    fields = _decode_object(body) or {}
    if status != 200:
        if fields.get("error") == "invalid_grant":
            raise SignInDenied(
                "The identity provider does not accept its code: please begin again."
            )
        raise ProviderInvalid(
            "The identity provider does not exchange the code for tokens; check "
            "FANION_OIDC_CLIENT_ID, the secret, and the redirect address that the provider knows."
        )
    id_token, access_token = fields.get("id_token"), fields.get("access_token")
    if not (_is_token(id_token) and _is_token(access_token)):
        raise ProviderInvalid("The identity provider sent no ID token.")
    return Tokens(str(id_token), str(access_token))


def _is_token(value: object) -> bool:
    """Return whether the value is a token that fits into a header."""
    if not isinstance(value, str) or not 0 < len(value) <= TOKEN_CHARS_MAX:
        return False
    return value.isascii() and value.isprintable() and " " not in value


def _decode_object(body: bytes) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    return value if isinstance(value, dict) else None


def _basic_authorization(client_id: str, secret: str) -> str:
    """Return the header that authenticates the client: both parts are encoded first.

    Source: RFC 6749 section 2.3.1.
    """
    pair = f"{quote(client_id, safe='')}:{quote(secret, safe='')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def _open_transport() -> httpx.AsyncHTTPTransport:
    return httpx.AsyncHTTPTransport(
        verify=httpx.create_ssl_context(),
        trust_env=False,
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
    )
