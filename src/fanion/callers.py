"""Who calls, as far as the network tells: the address that log lines and limits go by."""

from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Protocol

from fanion.http import Headers, address_of, forwarded_ip

ADDRESS_CHARS_MAX = 64  # an IPv6 address with a zone
IPV6_PREFIX = 64  # what one subscriber is given at least. source: RFC 6177


class Caller(Protocol):
    """peer: address and port of the other end of the connection"""

    @property
    def headers(self) -> Headers: ...
    @property
    def peer(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Client:
    """address: of the client, "" when a proxy keeps it to itself
    told:    what a peer that is not trusted says of its own client; "" when it says nothing
    """

    address: str
    told: str = ""


class Clients:
    """The one place where callers become addresses. trust_forwarded: as `http.client_ip`"""

    def __init__(self, *, trust_forwarded: bool = False) -> None:
        self._trust_forwarded = trust_forwarded

    def address(self, headers: Headers, peer: str) -> str:
        """Only what can be parsed as an address; "" for anything else."""
        told = forwarded_ip(headers) if self._trust_forwarded else None
        return _peer_address(peer) if told is None else normal_address(told)

    def of(self, caller: Caller) -> Client:
        address = self.address(caller.headers, caller.peer)
        if self._trust_forwarded:
            return Client(address)
        # A proxy adds the address that it sees at the end: its clients cannot choose that one.
        told = caller.headers.get("x-forwarded-for") or ""
        return Client(address, normal_address(told.rpartition(",")[2].strip()))


@lru_cache(4096)  # a client asks again and again on one connection
def _peer_address(peer: str) -> str:
    return normal_address(address_of(peer))


def normal_address(text: str) -> str:
    return _normal(text) if len(text) <= ADDRESS_CHARS_MAX else ""


@lru_cache(4096)
def _normal(text: str) -> str:
    try:
        address = ip_address(text)
    except ValueError:
        return ""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


def network_of(address: str) -> str:
    """What one subscriber has: an IPv4 address, a /64 of IPv6. address: normal, or "" """
    if ":" not in address:
        return address
    bare = address.partition("%")[0]
    return str(ip_network((bare, IPV6_PREFIX), strict=False))
