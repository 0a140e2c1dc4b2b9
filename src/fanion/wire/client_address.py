"""The address of a client, used by log lines and limits."""

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
    """address: of the client; "" when a proxy does not forward it
    claimed: the address that an untrusted peer forwards for its client; "" without one
    """

    address: str
    claimed: str = ""


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
        claimed = caller.headers.get(FOR) or ""
        return Client(address, read_address(claimed.rpartition(",")[2]))
