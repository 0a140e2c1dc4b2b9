"""The URL of a webhook, parsed for a request, and the addresses to which no webhook is sent."""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from httpx import URL, InvalidURL

URL_CHARS_MAX = 2_000
_PORTS = {"https": 443, "http": 80}
_NAME = re.compile(r"[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?")
_NAME_CHARS_MAX = 253


@dataclass(frozen=True, slots=True)
class WebhookTarget:
    """The parts of a webhook's URL that a request needs.

    Attributes:
        host: A name in ASCII, or an address.
        path: The path with the query.
        host_header: Host and port as written in the URL.
    """

    scheme: str
    host: str
    port: int
    path: str
    host_header: str
    is_address: bool

    def url_at(self, address: str) -> str:
        """Return the URL with the host replaced by one of its addresses."""
        literal = f"[{address}]" if ":" in address else address
        return f"{self.scheme}://{literal}:{self.port}{self.path}"


def read_target(url: str) -> WebhookTarget:
    """Parse the URL of a webhook.

    Raises:
        ValueError: The URL cannot be used; the message is readable for users.
    """
    if len(url) > URL_CHARS_MAX:
        raise ValueError(f"Ensure this field has no more than {URL_CHARS_MAX} characters.")
    try:
        read = URL(url)
    except InvalidURL:
        raise ValueError("Enter a valid URL.") from None
    if read.scheme not in _PORTS:
        raise ValueError("The URL must begin with https:// or http://.")
    if read.userinfo:
        raise ValueError("The URL must not hold a user name or a password.")
    host, port = read.raw_host.decode(), read.port
    is_address = _is_address(host)
    if not is_address and not (_NAME.fullmatch(host) and len(host) <= _NAME_CHARS_MAX):
        raise ValueError("Enter a valid URL.")
    if port is not None and not 0 < port <= 65535:
        raise ValueError("Enter a valid URL.")
    return WebhookTarget(
        read.scheme,
        host,
        port or _PORTS[read.scheme],
        read.raw_path.decode(),
        read.netloc.decode(),
        is_address,
    )


def _is_address(host: str) -> bool:
    try:
        return ip_address(host) is not None and "%" not in host
    except ValueError:
        return False


Address = IPv4Address | IPv6Address

# An address of this network stands for the IPv4 address in its last four bytes (RFC 6052).
_NAT64 = IPv6Network("64:ff9b::/96")
_EMBEDDED = 0xFFFFFFFF


def refusal(text: str) -> str | None:
    """Return the kind of a forbidden address, for messages, or None for a public one.

    Args:
        text: An address; an IPv6 address may have a zone.
    """
    address = _effective_address(ip_address(text.partition("%")[0]))
    for kind, applies in (
        ("an unspecified", address.is_unspecified),
        ("a loopback", address.is_loopback),
        ("a link-local", address.is_link_local),
        ("a multicast", address.is_multicast),
        ("a private or reserved", _is_special(address)),
    ):
        if applies:
            return f"{kind} address"
    return None


def _is_special(address: Address) -> bool:
    is_site_local = isinstance(address, IPv6Address) and address.is_site_local
    return address.is_reserved or is_site_local or not address.is_global


def _effective_address(address: Address) -> Address:
    """Return the IPv4 address embedded in an IPv6 one, or else the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & _EMBEDDED)
    return address.ipv4_mapped or address.sixtofour or address
