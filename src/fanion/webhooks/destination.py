"""The URL of a webhook, read into what a request to it needs."""

import re
from dataclasses import dataclass
from ipaddress import ip_address

import httpx

URL_CHARS_MAX = 2_000
_PORTS = {"https": 443, "http": 80}
_NAME = re.compile(r"[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?")
_NAME_CHARS_MAX = 253


@dataclass(frozen=True, slots=True)
class Target:
    """host: a name in ASCII, or an address; path: with the query; shown: host and port, as they
    stand in the URL"""

    scheme: str
    host: str
    port: int
    path: str
    shown: str
    is_address: bool

    def url_at(self, address: str) -> str:
        """The same place, reached at one of the addresses of its host."""
        literal = f"[{address}]" if ":" in address else address
        return f"{self.scheme}://{literal}:{self.port}{self.path}"


def read_target(url: str) -> Target:
    """raises: ValueError, whose text is for people"""
    if len(url) > URL_CHARS_MAX:
        raise ValueError(f"Ensure this field has no more than {URL_CHARS_MAX} characters.")
    try:
        read = httpx.URL(url)
    except httpx.InvalidURL:
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
    return Target(
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
