"""Callers become addresses, and addresses the networks of subscribers."""

import pytest

from fanion.server.forwarded import EVERYONE, TrustedProxies, network_of
from fanion.server.request import Request
from fanion.wire.client_address import Client, Clients

PEER = "192.0.2.7:4711"


def request(forwarded: str | None = None, peer: str = PEER) -> Request:
    headers = {} if forwarded is None else {"x-forwarded-for": forwarded}
    return Request("POST", "/e", "", headers, peer)


@pytest.mark.parametrize(
    ("forwarded", "peer", "address"),
    [
        (None, PEER, "192.0.2.7"),
        (None, "[2001:DB8::1]:443", "2001:db8::1"),
        (None, "[::ffff:192.0.2.7]:443", "192.0.2.7"),
        (None, "", ""),
        ("198.51.100.1", PEER, "198.51.100.1"),
        ("unknown", PEER, ""),
        ("not an address", PEER, ""),
        ("9" * 70_000, PEER, ""),
    ],
)
def test_an_address_is_what_can_be_parsed_or_nothing(
    forwarded: str | None, peer: str, address: str
) -> None:
    clients = Clients(TrustedProxies(EVERYONE))

    asked = request(forwarded, peer)

    assert clients.address(asked.headers, asked.peer) == address
    assert clients.of(asked) == Client(address)


@pytest.mark.parametrize(
    ("forwarded", "reported"),
    [
        (None, ""),
        ("198.51.100.1", "198.51.100.1"),
        ("chosen by the client, 203.0.113.9, 198.51.100.1", "198.51.100.1"),
        ("198.51.100.1, nonsense", ""),
    ],
)
def test_of_an_untrusted_peer_only_the_last_address_is_distinguished(
    forwarded: str | None, reported: str
) -> None:
    assert Clients().of(request(forwarded)) == Client("192.0.2.7", reported)


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:0:1:2:3:4:5", "2001:db8:0:1::/64"),
        ("fe80::1", "fe80::/64"),
        ("", ""),
    ],
)
def test_a_subscriber_has_one_ipv4_address_or_a_network(address: str, network: str) -> None:
    assert network_of(address) == network
