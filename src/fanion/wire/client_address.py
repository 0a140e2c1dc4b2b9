"""Who calls, as far as the network tells: the address that log lines and limits go by."""

from dataclasses import dataclass
from typing import Protocol

from fanion.server.forwarded import FOR, Headers, TrustedProxies, address_of, read_address

# A capture request that says so stores no address with its events, but for those that they bring
# themselves: for copies, whose sender is not the client. Any sender may say it, since any may send
# a `$ip` of its choice. It means nothing to limits, which count by the real address.
ADDRESS_HEADER = "fanion-client-address"
NO_ADDRESS = "none"


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
    """The one place where callers become addresses, all of them normal, or "" when unknown."""

    def __init__(self, proxies: TrustedProxies | None = None) -> None:
        self._proxies = proxies or TrustedProxies()

    def address(self, headers: Headers, peer: str) -> str:
        return self._proxies.client_address(peer, headers)

    def of(self, caller: Caller) -> Client:
        address = self.address(caller.headers, caller.peer)
        if self._proxies.is_trusted(address_of(caller.peer)):
            return Client(address)
        # A proxy adds the address that it sees at the end: its clients cannot choose that one.
        told = caller.headers.get(FOR) or ""
        return Client(address, read_address(told.rpartition(",")[2]))
