"""What proxies tell of a request: the client's address, and the scheme, host and path prefix that
the client used. Only what a trusted proxy says counts; anybody may send these headers.

`Forwarded` (RFC 7239) is not read: a proxy that sets one family of headers passes the other on as
the client sent it, so that believing both would let clients choose their address.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple

Network = IPv4Network | IPv6Network

FOR, HOST = "x-forwarded-for", "x-forwarded-host"
PROTO, PREFIX = "x-forwarded-proto", "x-forwarded-prefix"

# Every address; what FANION_TRUST_FORWARDED_FOR=true stands for.
EVERYONE: tuple[Network, ...] = (IPv4Network("0.0.0.0/0"), IPv6Network("::/0"))
HOPS_MAX = 32  # entries of X-Forwarded-For that are looked at, from its end
# The longest address in brackets (47), a zone (15 on Linux, and "%") and a port (6).
ENTRY_CHARS_MAX = 72
CLIENT_PREFIX_BITS = 64  # of IPv6, what one subscriber is given at least. source: RFC 6177
ADDRESSES_CACHED = 4_096  # about 1 MB
HOST_CHARS_MAX = 255 + len(":65535")  # RFC 1035 section 2.3.4
PREFIX_CHARS_MAX = 200

_MAPPED = IPv6Network("::ffff:0:0/96")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\.?")
_PREFIX = re.compile(r"(?:/[A-Za-z0-9._~!$&'()*+;=:@%-]+)+")
_PORT_DIGITS_MAX = 5
_PORT_MAX = 65_535


# Names in lower case. Lines of one name are joined with commas, in their order.
Headers = Mapping[str, str]


class Base(NamedTuple):
    """Where the client reached the outermost proxy, as far as a trusted one tells: None for what
    it does not. prefix: begins with a slash and ends without one, or is empty"""

    scheme: str | None = None
    host: str | None = None
    prefix: str = ""


_NOTHING_TOLD = Base()


class TrustedProxies:
    """The proxies whose word counts.

    on_ignored: called with a peer's address when it is not trusted and has sent such a header
    is_trusted: of an address without a port; a look-up after the first time
    """

    is_trusted: Callable[[str], bool]

    def __init__(
        self, networks: Iterable[Network] = (), on_ignored: Callable[[str], None] | None = None
    ) -> None:
        self.networks = tuple(networks)
        self._on_ignored = on_ignored
        self.is_trusted = lru_cache(ADDRESSES_CACHED)(self._is_trusted)

    def client_address(self, peer: str, headers: Headers) -> str:
        """The last entry of X-Forwarded-For, seen from the peer, that is not a trusted proxy.

        peer:    address and port of the connection
        returns: normalised; "" when a trusted proxy says that it is unknown, or says something
                 that is no address: what stands before that is anybody's word
        source:  capture.md 3.1
        """
        return self.of_head(headers)(peer)

    def of_head(self, headers: Headers) -> Callable[[str], str]:
        """`client_address` of all requests with these headers, by their peer."""
        if not _tells(headers):
            return address_of
        return _Told(self, self.forwarded_address(headers.get(FOR) or ""))

    def forwarded_address(self, forwarded: str) -> str | None:
        """What X-Forwarded-For of a trusted peer says; None when it says nothing."""
        known: str | None = None
        rest, comma = forwarded, ","
        for _ in range(HOPS_MAX):
            if not comma:
                break
            rest, comma, entry = rest.rpartition(",")
            if not (entry := entry.strip()):
                continue  # RFC 9110 section 5.6.1
            known = read_address(entry)
            if not known or not self.is_trusted(known):
                return known
        return known

    def base(self, peer: str, headers: Headers) -> Base:
        """peer: the address of the connection. Of several values of a header the last one counts,
        which is the peer's own; one that is malformed does not."""
        if not _tells(headers):
            return _NOTHING_TOLD
        address = read_address(peer)
        if not self.is_trusted(address):
            self.ignored(address)
            return _NOTHING_TOLD
        return Base(
            _scheme(_last(headers.get(PROTO))),
            _host(_last(headers.get(HOST))),
            _prefix(_last(headers.get(PREFIX))),
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
    """What absolute links begin with.

    public_url: the operator's own, which wins; "" for none
    host:       for a request that names none, as HTTP/1.0 may; maybe with a port
    """

    proxies: TrustedProxies
    public_url: str = ""
    host: str = "localhost"

    def of(self, peer: str, headers: Headers, scheme: str = "http") -> str:
        """Scheme, host and the prefix of paths, without a slash at its end.

        peer:   the address of the connection, maybe with its port
        scheme: that of the connection; it and `Host` count where no trusted proxy tells others
        """
        if self.public_url:
            return self.public_url.rstrip("/")
        told = self.proxies.base(peer, headers)
        host = told.host or headers.get("host") or self.host
        return f"{told.scheme or scheme}://{host}{told.prefix}"


def is_base_url(url: str) -> bool:
    """Whether it is an http or https address with a host, and at most a path."""
    scheme, separator, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    is_path = not path.strip("/") or bool(_prefix(slash + path))
    return bool(separator and _scheme(scheme) and _host(host) and is_path)


def _tells(headers: Headers) -> bool:
    """Asked of each request: a loop over the names takes four times as long."""
    get = headers.get
    return bool(get(FOR) or get(HOST) or get(PROTO) or get(PREFIX))


class _Told:
    """As `TrustedProxies.of_head`, of a head with forwarded headers."""

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


@lru_cache(1024)  # a client asks again and again on the same connection
def address_of(peer: str) -> str:
    """Without the port; "" for a peer that has no address."""
    return read_address(peer)


def read_address(text: str) -> str:
    """An IPv4 or IPv6 address in its shortest form, which is at most 39 characters long.

    text:    maybe with a port, IPv6 then in brackets; maybe with a zone, which means something
             only on the machine that wrote it and is cut off
    returns: IPv4 for an IPv4-mapped address; "" when it is no address
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
        return str(_plain(ip_address(host)))
    except ValueError:
        return ""


def _split_port(text: str) -> tuple[str, str | None]:
    """port: None when there is none"""
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


def _plain(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """One machine has one address, whichever socket it was met on."""
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def network_of(address: str) -> str:
    """What one client has: an IPv4 address, or a /64 of IPv6. address: as of `read_address`"""
    if ":" not in address:
        return address
    return str(ip_network((address, CLIENT_PREFIX_BITS), strict=False))


def read_networks(text: str) -> tuple[Network, ...]:
    """Addresses and networks, with commas or spaces between them. raises: ValueError, naming the
    entry that is neither"""
    return tuple(_network(entry) for entry in text.replace(",", " ").split())


def _network(entry: str) -> Network:
    try:
        network = ip_network(entry)
    except ValueError:
        raise ValueError(_advice(entry)) from None
    if isinstance(network, IPv6Network) and network.subnet_of(_MAPPED):
        mapped = network.network_address.ipv4_mapped
        return IPv4Network((str(mapped), network.prefixlen - _MAPPED.prefixlen))
    return network


def _advice(entry: str) -> str:
    try:
        return f"{entry!r} has bits beyond its mask; did you mean {ip_network(entry, strict=False)}"
    except ValueError:
        return f"{entry!r} is neither an address nor a network such as 10.0.0.0/8"


def shown(networks: Sequence[Network]) -> str:
    """For people."""
    single = (32, 128)
    names = (
        str(one.network_address if one.prefixlen == single[one.version == 6] else one)
        for one in networks
    )
    return ", ".join(names) or "none"


def _last(value: str | None) -> str:
    return (value or "").rpartition(",")[2].strip()


def _scheme(value: str) -> str | None:
    scheme = value.lower()
    return scheme if scheme in ("http", "https") else None


def _host(value: str) -> str | None:
    """source: RFC 3986 section 3.2.2, without what stands in no host of a web server"""
    if len(value) > HOST_CHARS_MAX:
        return None
    host, port = _split_port(value)
    if port is not None and not _is_port(port):
        return None
    if value[:1] == "[":
        return value if ":" in host and "%" not in host and read_address(host) else None
    return value if _NAME.fullmatch(host) else None


def _prefix(value: str) -> str:
    prefix = value.rstrip("/")
    if len(prefix) > PREFIX_CHARS_MAX or not _PREFIX.fullmatch(prefix):
        return ""
    return "" if {".", ".."}.intersection(prefix.split("/")) else prefix
