"""The client's address, and the scheme, host and path prefix that it used, from `X-Forwarded-*`.

They are read only from trusted proxies, since any client may send these headers. `Forwarded` (RFC
7239) is not read: a proxy that sets one family of headers passes the other on as the client sent
it, so that reading both would let clients choose their address.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple, Protocol

Network = IPv4Network | IPv6Network

FOR, HOST = "x-forwarded-for", "x-forwarded-host"
PROTO, PREFIX = "x-forwarded-proto", "x-forwarded-prefix"

HOPS_MAX = 32  # entries of X-Forwarded-For that are read, from its end
# The longest address in brackets (47), a zone (15 on Linux, and "%") and a port (6).
ENTRY_CHARS_MAX = 72
CLIENT_PREFIX_BITS = 64  # the least that one subscriber is given of IPv6 (RFC 6177)
ADDRESSES_CACHED = 4_096  # about 1 MB
HOST_CHARS_MAX = 255 + len(":65535")  # RFC 1035 section 2.3.4
PREFIX_CHARS_MAX = 200

_MAPPED = IPv6Network("::ffff:0:0/96")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\.?")
_PREFIX = re.compile(r"(?:/[A-Za-z0-9._~!$&'()*+;=:@%-]+)+")
_PORT_DIGITS_MAX = 5
_PORT_MAX = 65_535


# Names are in lower case. Lines with the same name are joined with commas, in order.
Headers = Mapping[str, str]


class Caller(Protocol):
    """A request, as far as its client's address depends on it.

    Attributes:
        peer: Address and port of the other end of the connection.
    """

    @property
    def headers(self) -> Headers: ...
    @property
    def peer(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Client:
    """The addresses of a client, in the form of `read_address`; "" for none.

    Attributes:
        address: The client's address; "" if a proxy does not forward it.
        claimed: The address that an untrusted peer forwards for its client.
    """

    address: str
    claimed: str = ""


class Base(NamedTuple):
    """The address at which the client reached the outermost proxy.

    A field is None if no trusted proxy forwards it.

    Attributes:
        prefix: Begins with a slash and ends without one, or is empty.
    """

    scheme: str | None = None
    host: str | None = None
    prefix: str = ""


_NOT_FORWARDED = Base()


class TrustedProxies:
    """The trusted proxies, and the addresses and base URLs that their headers give.

    Attributes:
        on_ignored: Called with the address of an untrusted peer that sent a forwarded header.
        is_trusted: Takes an address without a port; cached.
    """

    is_trusted: Callable[[str], bool]

    def __init__(
        self, networks: Iterable[Network] = (), on_ignored: Callable[[str], None] | None = None
    ) -> None:
        self.networks = tuple(networks)
        self._on_ignored = on_ignored
        self.is_trusted = lru_cache(ADDRESSES_CACHED)(self._is_trusted)

    def client_address(self, peer: str, headers: Headers) -> str:
        """Return the last entry of X-Forwarded-For that is not a trusted proxy, seen from the peer.

        Args:
            peer: Address and port of the connection.

        Returns:
            A normalised address; "" if a trusted proxy sends `unknown` or other text that is not
            an address, because any client may have written the entries before that one.

        Source: capture.md 3.1.
        """
        return self.address_finder(headers)(peer)

    def client(self, caller: Caller) -> Client:
        address = self.client_address(caller.peer, caller.headers)
        if self.is_trusted(address_of(caller.peer)):
            return Client(address)
        # A proxy adds the address that it sees at the end, so its clients cannot choose that one.
        claimed = caller.headers.get(FOR) or ""
        return Client(address, read_address(claimed.rpartition(",")[2]))

    def address_finder(self, headers: Headers) -> Callable[[str], str]:
        """Return a function from peers to `client_address`, for all requests with these headers."""
        if not _has_forwarded(headers):
            return address_of
        return _AddressFinder(self, self.forwarded_address(headers.get(FOR) or ""))

    def forwarded_address(self, forwarded: str) -> str | None:
        """Return the client's address in a trusted X-Forwarded-For; None without an entry."""
        known: str | None = None
        rest, comma = forwarded, ","
        for _ in range(HOPS_MAX):
            if not comma:
                break
            rest, comma, entry = rest.rpartition(",")
            if not (entry := entry.strip()):
                continue  # an empty list element (RFC 9110 section 5.6.1)
            known = read_address(entry)
            if not known or not self.is_trusted(known):
                return known
        return known

    def base(self, peer: str, headers: Headers) -> Base:
        """Return the base URL that a trusted proxy forwards.

        The last value of a header counts, which the peer itself added; a malformed one is ignored.

        Args:
            peer: The address of the connection.
        """
        if not _has_forwarded(headers):
            return _NOT_FORWARDED
        address = read_address(peer)
        if not self.is_trusted(address):
            self.ignored(address)
            return _NOT_FORWARDED
        return Base(
            _valid_scheme(_last_value(headers.get(PROTO))),
            _valid_host(_last_value(headers.get(HOST))),
            _valid_prefix(_last_value(headers.get(PREFIX))),
        )

    def ignored(self, address: str) -> None:
        if self._on_ignored is not None:
            self._on_ignored(address)

    def _is_trusted(self, address: str) -> bool:
        if not self.networks or not (plain := read_address(address)):
            return False
        parsed = ip_address(plain)
        return any(parsed in network for network in self.networks)


class BaseUrl(NamedTuple):
    """The URL that absolute links begin with.

    Attributes:
        public_url: Set by the operator, and preferred to all others; "" for none.
        host: Used for a request without `Host`, as HTTP/1.0 allows; may have a port.
    """

    proxies: TrustedProxies
    public_url: str = ""
    host: str = "localhost"

    def of(self, peer: str, headers: Headers, scheme: str = "http") -> str:
        """Return scheme, host and the prefix of paths, without a slash at the end.

        Args:
            peer: The address of the connection, with or without its port.
            scheme: The connection's; it and `Host` count unless a trusted proxy forwards others.
        """
        if self.public_url:
            return self.public_url.rstrip("/")
        base = self.proxies.base(peer, headers)
        host = base.host or headers.get("host") or self.host
        return f"{base.scheme or scheme}://{host}{base.prefix}"


def is_base_url(url: str) -> bool:
    """Return whether the text is an http or https address with a host and at most a path."""
    scheme, separator, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    is_path = not path.strip("/") or bool(_valid_prefix(slash + path))
    return bool(separator and _valid_scheme(scheme) and _valid_host(host) and is_path)


def _has_forwarded(headers: Headers) -> bool:
    """Return whether a forwarded header is set; a loop over the names takes four times as long."""
    get = headers.get
    return bool(get(FOR) or get(HOST) or get(PROTO) or get(PREFIX))


class _AddressFinder:
    """A function from peers to client addresses, for headers that contain a forwarded one."""

    __slots__ = ("_address", "_proxies")

    def __init__(self, proxies: TrustedProxies, address: str | None) -> None:
        self._proxies = proxies
        self._address = address

    def __call__(self, peer: str) -> str:
        address = address_of(peer)
        if self._proxies.is_trusted(address):
            return address if self._address is None else self._address
        self._proxies.ignored(address)
        return address


@lru_cache(1024)  # a client sends many requests on the same connection
def address_of(peer: str) -> str:
    """Return the address of a peer without its port; "" if it has none."""
    return read_address(peer)


def read_address(text: str) -> str:
    """Return an IPv4 or IPv6 address in its shortest form, which has at most 39 characters.

    Args:
        text: May have a port, with IPv6 in brackets. A zone, which has a meaning only on the
            machine that wrote it, is dropped.

    Returns:
        IPv4 for an IPv4-mapped address; "" if the text is not an address.
    """
    return _read_address(text.strip()) if len(text) <= ENTRY_CHARS_MAX else ""


@lru_cache(ADDRESSES_CACHED)
def _read_address(text: str) -> str:
    host, port = _split_port(text)
    if port is not None and not _is_port(port):
        return ""
    if ":" in host:
        host = host.partition("%")[0]
    elif text[:1] == "[":
        return ""
    try:
        return str(_unmapped_address(ip_address(host)))
    except ValueError:
        return ""


def _split_port(text: str) -> tuple[str, str | None]:
    """Split host and port; the port is None if there is none."""
    if text[:1] == "[" and "]" in text:
        host, _, rest = text[1:].partition("]")
        return host, rest.removeprefix(":") if rest else None
    if text.count(":") == 1:
        host, _, port = text.partition(":")
        return host, port
    return text, None


def _is_port(text: str) -> bool:
    is_number = text.isascii() and text.isdigit() and len(text) <= _PORT_DIGITS_MAX
    return is_number and int(text) <= _PORT_MAX


def _unmapped_address(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return IPv4 for a mapped address: one machine has one address on dual-stack sockets too."""
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def network_of(address: str) -> str:
    """Return an IPv4 address, or the /64 of an IPv6 address, which one subscriber has.

    Args:
        address: In the form of `read_address`.
    """
    if ":" not in address:
        return address
    return str(ip_network((address, CLIENT_PREFIX_BITS), strict=False))


def read_networks(text: str) -> tuple[Network, ...]:
    """Parse addresses and networks, separated by commas or spaces.

    Raises:
        ValueError: An entry is neither; the text names it.
    """
    return tuple(_parse_network(entry) for entry in text.replace(",", " ").split())


def _parse_network(entry: str) -> Network:
    try:
        network = ip_network(entry)
    except ValueError:
        raise ValueError(_network_advice(entry)) from None
    if isinstance(network, IPv6Network) and network.subnet_of(_MAPPED):
        mapped = network.network_address.ipv4_mapped
        return IPv4Network((str(mapped), network.prefixlen - _MAPPED.prefixlen))
    return network


def _network_advice(entry: str) -> str:
    try:
        return f"{entry!r} has bits beyond its mask; did you mean {ip_network(entry, strict=False)}"
    except ValueError:
        return f"{entry!r} is neither an address nor a network such as 10.0.0.0/8"


def format_networks(networks: Sequence[Network]) -> str:
    """Return the networks as text for messages; "none" if there are none."""
    single = (32, 128)
    names = (
        str(
            network.network_address
            if network.prefixlen == single[network.version == 6]
            else network
        )
        for network in networks
    )
    return ", ".join(names) or "none"


def _last_value(value: str | None) -> str:
    return (value or "").rpartition(",")[2].strip()


def _valid_scheme(value: str) -> str | None:
    scheme = value.lower()
    return scheme if scheme in ("http", "https") else None


def _valid_host(value: str) -> str | None:
    """Return the host if it is well-formed, or None.

    Source: RFC 3986 section 3.2.2, without forms that no web server's host has.
    """
    if len(value) > HOST_CHARS_MAX:
        return None
    host, port = _split_port(value)
    if port is not None and not _is_port(port):
        return None
    if value[:1] == "[":
        return value if ":" in host and "%" not in host and read_address(host) else None
    return value if _NAME.fullmatch(host) else None


def _valid_prefix(value: str) -> str:
    prefix = value.rstrip("/")
    if len(prefix) > PREFIX_CHARS_MAX or not _PREFIX.fullmatch(prefix):
        return ""
    return "" if {".", ".."}.intersection(prefix.split("/")) else prefix
