"""One delivery attempt: resolve the name, check the addresses, connect to one of them.

The request goes to a checked address, with the name in `Host` and SNI, so that a later DNS
response has no effect (DNS rebinding). It is made on the transport, below cookies, redirects, and
proxies and passwords from the environment. Connections are not reused, as two names may share an
address.
"""

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from ssl import SSLContext

import httpx

from fanion import __version__
from fanion.webhooks.destination import WebhookTarget, read_target, refusal
from fanion.webhooks.model import DeliveryOutcome

TIMEOUT_S = 10.0  # for the whole attempt
ADDRESSES_MAX = 4  # more addresses of a name are not tried

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


class Refused(Exception):
    """The destination is not allowed."""


class Sender:
    """A client that makes delivery attempts and describes their outcome.

    Args:
        allow_private: Whether webhooks may be sent to addresses that are not public.
        trusted: The trusted certificates; None for those of SSL_CERT_FILE or SSL_CERT_DIR, or
            else the system's.
    """

    def __init__(
        self,
        resolve: Resolve,
        *,
        allow_private: bool = False,
        timeout_s: float = TIMEOUT_S,
        trusted: SSLContext | None = None,
    ) -> None:
        self._resolve = resolve
        self._allow_private = allow_private
        self._timeout_s = timeout_s
        self._trusted = trusted
        self._transport: httpx.AsyncHTTPTransport | None = None

    async def send(self, url: str, headers: Mapping[str, str], body: bytes) -> DeliveryOutcome:
        """Post the body to the URL and return the outcome.

        Nothing that the receiver or the network does raises an exception.
        """
        try:
            async with asyncio.timeout(self._timeout_s):
                target = read_target(url)
                addresses = await self._addresses(target)
                code = await self._post(target, addresses, headers, body)
        except TimeoutError:
            return DeliveryOutcome(error=f"No answer within {self._timeout_s:g} s.")
        except (Refused, ValueError) as error:
            return DeliveryOutcome(error=str(error), is_final=True)
        except (OSError, httpx.HTTPError, httpx.InvalidURL) as error:
            return DeliveryOutcome(error=f"{type(error).__name__}: {error}".rstrip(": "))
        if 200 <= code < 300:
            return DeliveryOutcome(code)
        return DeliveryOutcome(code, f"The answer was {code}, not 200 to 299.")

    async def close(self) -> None:
        if self._transport is not None:
            await self._transport.aclose()

    async def _addresses(self, target: WebhookTarget) -> Sequence[str]:
        """Return the addresses to try, at most ADDRESSES_MAX.

        Raises:
            Refused: One of the addresses is forbidden.
            OSError: The host has no address.
        """
        addresses = await self._resolve(target.host, target.port)
        if not self._allow_private:
            for address in addresses:
                if (kind := refusal(address)) is not None:
                    raise Refused(f"Not sent: the host has {kind}.")
        if not addresses:
            raise OSError("The host has no address.")
        return addresses[:ADDRESSES_MAX]

    async def _post(
        self,
        target: WebhookTarget,
        addresses: Sequence[str],
        headers: Mapping[str, str],
        body: bytes,
    ) -> int:
        """Return the status code from the first address that accepts a connection."""
        for address in addresses[:-1]:
            try:
                return await self._post_to(address, target, headers, body)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue
        return await self._post_to(addresses[-1], target, headers, body)

    async def _post_to(
        self, address: str, target: WebhookTarget, headers: Mapping[str, str], body: bytes
    ) -> int:
        """Return the status code, without reading the body of the response."""
        extensions: dict[str, object] = {"timeout": httpx.Timeout(self._timeout_s).as_dict()}
        if not target.is_address:
            extensions["sni_hostname"] = target.host.rstrip(".")
        request = httpx.Request(
            "POST",
            target.url_at(address),
            headers={
                "host": target.host_header,
                "user-agent": f"Fanion/{__version__}",
                "content-type": "application/json",
                "connection": "close",
                **headers,
            },
            content=body,
            extensions=extensions,
        )
        if self._transport is None:
            # In a thread, because reading the bundle of certificates takes 40 ms.
            self._transport = await asyncio.to_thread(_open_transport, self._trusted)
        response = await self._transport.handle_async_request(request)
        await response.aclose()
        return response.status_code


def _open_transport(trusted: SSLContext | None) -> httpx.AsyncHTTPTransport:
    return httpx.AsyncHTTPTransport(
        verify=trusted or httpx.create_ssl_context(),
        trust_env=False,
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
    )


# Concurrent DNS look-ups, including those whose delivery has timed out.
LOOKUPS_MAX = 64


class Resolver:
    """A DNS client with a limit on concurrent look-ups."""

    def __init__(self) -> None:
        self._running = 0

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        """Return the distinct addresses, in the order in which to try them.

        Raises:
            OSError: The look-up failed, or LOOKUPS_MAX others are running.
        """
        if self._running >= LOOKUPS_MAX:
            raise OSError("too many names are being looked up")
        loop = asyncio.get_running_loop()
        addresses: asyncio.Future[Sequence[str]] = loop.create_future()
        self._running += 1

        def settle(answer: Sequence[str] | OSError) -> None:
            self._running -= 1
            if addresses.done():
                return
            if isinstance(answer, OSError):
                addresses.set_exception(answer)
            else:
                addresses.set_result(answer)

        def look_up() -> None:
            answer = _addresses(host, port)
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, answer)

        # A daemon thread, so that a look-up that hangs does not delay the shutdown.
        threading.Thread(target=look_up, name="webhook-lookup", daemon=True).start()
        return await addresses


def _addresses(host: str, port: int) -> Sequence[str] | OSError:
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        return error if isinstance(error, OSError) else OSError(str(error))
    return list(dict.fromkeys(str(address[0]) for *_, address in entries))
