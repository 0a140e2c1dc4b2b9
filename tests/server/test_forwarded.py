"""Client addresses and base URLs from the headers of proxies, trusted and not."""

from ipaddress import IPv6Address
from typing import Any

import pytest

from fanion.server.forwarded import (
    ENTRY_CHARS_MAX,
    HOPS_MAX,
    PREFIX_CHARS_MAX,
    Base,
    BaseUrl,
    Client,
    TrustedProxies,
    address_of,
    format_networks,
    network_of,
    read_address,
    read_networks,
)
from fanion.server.head import HeaderFields
from fanion.server.request import Request

TRUSTED = "10.0.0.0/8 192.0.2.1 fd00::/8 ::1"
PROXY, STRANGER = "10.1.2.3:4711", "203.0.113.9:4711"
LONG = "x" * 60_000

# Peer, X-Forwarded-For, and the address of the client.
ADDRESSES: list[tuple[str, str | None, str]] = [
    # The headers of untrusted peers are ignored.
    (STRANGER, None, "203.0.113.9"),
    (STRANGER, "1.2.3.4", "203.0.113.9"),
    (STRANGER, "10.0.0.1", "203.0.113.9"),
    (STRANGER, "unknown", "203.0.113.9"),
    (STRANGER, LONG, "203.0.113.9"),
    ("[2001:db8::9]:80", "1.2.3.4", "2001:db8::9"),
    # A proxy that forwards no address is taken for the client.
    (PROXY, None, "10.1.2.3"),
    (PROXY, "", "10.1.2.3"),
    (PROXY, " , ,", "10.1.2.3"),
    # The last entry that is not a proxy counts.
    (PROXY, "1.2.3.4", "1.2.3.4"),
    (PROXY, "6.6.6.6, 1.2.3.4", "1.2.3.4"),
    (PROXY, "6.6.6.6, 1.2.3.4, 10.9.9.9", "1.2.3.4"),
    (PROXY, "6.6.6.6,1.2.3.4,192.0.2.1,10.9.9.9", "1.2.3.4"),
    (PROXY, "6.6.6.6, 10.0.0.1, 1.2.3.4", "1.2.3.4"),
    (PROXY, "1.2.3.4, , 10.9.9.9,", "1.2.3.4"),
    (PROXY, "\t1.2.3.4 ", "1.2.3.4"),
    ("[::1]:80", "1.2.3.4", "1.2.3.4"),
    ("[fd00::7]:80", "2001:db8::1, fd12::1", "2001:db8::1"),
    ("[fd00::7%eth0]:80", "1.2.3.4", "1.2.3.4"),
    ("[::ffff:10.1.2.3]:80", "1.2.3.4, ::ffff:10.0.0.1", "1.2.3.4"),
    # If all entries are proxies, the first one counts.
    (PROXY, "10.0.0.7", "10.0.0.7"),
    (PROXY, "10.0.0.7, 10.0.0.8", "10.0.0.7"),
    # If a proxy hides the address or sends something else, the client may have written the entries
    # before it.
    (PROXY, "unknown", ""),
    (PROXY, "Unknown", ""),
    (PROXY, "_hidden", ""),
    (PROXY, "1.2.3.4, unknown", ""),
    (PROXY, "1.2.3.4, unknown, 10.0.0.1", ""),
    (PROXY, "1.2.3.4, garbage", ""),
    (PROXY, f"1.2.3.4, {LONG}", ""),
    (PROXY, f"{LONG}, 1.2.3.4", "1.2.3.4"),
    (PROXY, f"fe80::1%{LONG}", ""),
    (PROXY, '"1.2.3.4"', ""),
    (PROXY, "for=1.2.3.4", ""),
    # At most HOPS_MAX entries are read.
    (PROXY, "1.2.3.4," + ",".join(["10.0.0.1"] * (HOPS_MAX - 1)), "1.2.3.4"),
    (PROXY, "1.2.3.4," + ",".join(["10.0.0.1"] * HOPS_MAX), "10.0.0.1"),
    (PROXY, "1.2.3.4" + "," * 60_000, "10.1.2.3"),
    # A connection may have no address.
    ("", "1.2.3.4", ""),
]


@pytest.mark.parametrize(("peer", "forwarded", "address"), ADDRESSES)
def test_the_client_address_is_the_last_one_that_is_not_a_trusted_proxy(
    peer: str, forwarded: str | None, address: str
) -> None:
    proxies = TrustedProxies(read_networks(TRUSTED))
    headers = {} if forwarded is None else {"x-forwarded-for": forwarded}

    assert proxies.client_address(peer, headers) == address
    assert proxies.address_finder(headers)(peer) == address


@pytest.mark.parametrize("peer", [PROXY, STRANGER, "127.0.0.1:1", "[::1]:1"])
def test_by_default_no_proxy_is_trusted(peer: str) -> None:
    headers = {"x-forwarded-for": "1.2.3.4"}

    assert TrustedProxies().client_address(peer, headers) == address_of(peer)


def test_with_all_networks_trusted_the_first_entry_counts() -> None:
    proxies = TrustedProxies(read_networks("0.0.0.0/0 ::/0"))

    for peer in (STRANGER, "[2001:db8::1]:1"):
        assert proxies.client_address(peer, {"x-forwarded-for": "1.2.3.4, 5.6.7.8"}) == "1.2.3.4"
        assert proxies.client_address(peer, {"x-forwarded-for": "unknown"}) == ""


def test_several_header_lines_are_one_list_in_their_order() -> None:
    headers = HeaderFields()
    for value in ("6.6.6.6", "1.2.3.4", "10.9.9.9"):
        headers.add("x-forwarded-for", value)

    proxies = TrustedProxies(read_networks(TRUSTED))

    assert proxies.client_address(PROXY, headers) == "1.2.3.4"


def test_forwarded_is_not_read() -> None:
    headers = {"forwarded": "for=1.2.3.4;host=a.example;proto=https"}
    proxies = TrustedProxies(read_networks(TRUSTED))

    assert proxies.client_address(PROXY, headers) == "10.1.2.3"
    assert proxies.base("10.1.2.3", headers) == Base()


READ: list[tuple[str, str]] = [
    ("1.2.3.4", "1.2.3.4"),
    ("1.2.3.4:80", "1.2.3.4"),
    ("1.2.3.4:65535", "1.2.3.4"),
    ("2001:DB8:0:0::1", "2001:db8::1"),
    ("[2001:db8::1]", "2001:db8::1"),
    ("[2001:db8::1]:443", "2001:db8::1"),
    ("fe80::1%eth0", "fe80::1"),
    ("[fe80::1%25eth0]:80", "fe80::1"),
    ("::ffff:1.2.3.4", "1.2.3.4"),
    ("[::ffff:1.2.3.4]:80", "1.2.3.4"),
    ("::ffff:102:304", "1.2.3.4"),
    ("64:ff9b::1.2.3.4", "64:ff9b::102:304"),
    *[
        (text, "")
        for text in (
            *("", " ", "unknown", "localhost", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4"),
            *("1.2.3.4/32", "1.2.3.4:", "1.2.3.4:x", "1.2.3.4:65536", "1.2.3.4:000080", ":80"),
            *("[1.2.3.4]", "[1.2.3.4]:80", "[::1", "[::1]x", "[::1]:", "::1]", "2001:db8::1::"),
            *(
                "1.2.3.4%eth0",
                "1.2.3.4, 5.6.7.8",
                "16909060",
                "0x01020304",
                "１.2.3.4",
                "1.2.3.4\0",
            ),
        )
    ],
]


@pytest.mark.parametrize(("text", "address"), READ)
def test_only_addresses_are_read(text: str, address: str) -> None:
    assert read_address(text) == address


def test_the_longest_address_is_read_and_nothing_longer() -> None:
    longest = f"[{IPv6Address(2**128 - 1).exploded}%{'z' * 15}]:65535"

    assert len(longest) <= ENTRY_CHARS_MAX
    assert len(read_address(longest)) == 39
    assert read_address("1.2.3.4" + " " * ENTRY_CHARS_MAX) == ""


@pytest.mark.parametrize(
    ("address", "is_trusted"),
    [
        ("10.0.0.1", True),
        ("::ffff:10.0.0.1", True),
        ("fd00::1", True),
        ("11.0.0.1", False),
        ("", False),
        ("unknown", False),
        ("x" * 60_000, False),
    ],
)
def test_is_trusted_accepts_any_text(address: str, is_trusted: bool) -> None:
    assert TrustedProxies(read_networks(TRUSTED)).is_trusted(address) is is_trusted


BASES: list[tuple[dict[str, Any], Base]] = [
    ({}, Base()),
    ({"x-forwarded-proto": "https"}, Base(scheme="https")),
    ({"x-forwarded-proto": "HTTPS"}, Base(scheme="https")),
    ({"x-forwarded-proto": "javascript"}, Base()),
    ({"x-forwarded-proto": "http, https"}, Base(scheme="https")),
    ({"x-forwarded-host": "a.example.com"}, Base(host="a.example.com")),
    ({"x-forwarded-host": "a_b.example:8443"}, Base(host="a_b.example:8443")),
    ({"x-forwarded-host": "[2001:db8::1]:8443"}, Base(host="[2001:db8::1]:8443")),
    ({"x-forwarded-host": "192.0.2.7"}, Base(host="192.0.2.7")),
    # The client's entry comes before the proxy's.
    ({"x-forwarded-host": "evil.example, a.example.com"}, Base(host="a.example.com")),
    *[
        ({"x-forwarded-host": host}, Base())
        for host in (
            *("", "a b", "a/b", "user@a", "a:", "a:x", "a:70000", "-a", ".a", "a\\b", "a?b", "a#b"),
            *("[::1", "[x]", "[fe80::1%25eth0]", "ä.example", "a" * 300, "a, "),
        )
    ],
    ({"x-forwarded-prefix": "/analytics"}, Base(prefix="/analytics")),
    ({"x-forwarded-prefix": "/a/b-c/~d/"}, Base(prefix="/a/b-c/~d")),
    ({"x-forwarded-prefix": "/evil, /analytics"}, Base(prefix="/analytics")),
    *[
        ({"x-forwarded-prefix": prefix}, Base())
        for prefix in (
            *("", "/", "a", "//evil.example", "/a//b", "/a?b", "/a#b", "/a b", "/../a", "/a/./b"),
            *("/ä", '/"', "/" + "a" * PREFIX_CHARS_MAX),
        )
    ],
]


@pytest.mark.parametrize(("headers", "base"), BASES)
def test_the_base_is_read_from_a_trusted_proxy(headers: dict[str, Any], base: Base) -> None:
    proxies = TrustedProxies(read_networks(TRUSTED))

    assert proxies.base("10.1.2.3", headers) == base
    assert proxies.base("fd00::1%eth0", headers) == base
    assert proxies.base("203.0.113.9", headers) == Base()


@pytest.mark.parametrize("name", ["for", "host", "proto", "prefix"])
def test_each_header_of_an_untrusted_peer_is_reported(name: str) -> None:
    noticed: list[str] = []
    proxies = TrustedProxies(read_networks(TRUSTED), noticed.append)
    headers = {f"x-forwarded-{name}": "1.2.3.4"}

    proxies.client_address(PROXY, headers)
    proxies.base("10.1.2.3", headers)
    proxies.client_address(STRANGER, {"accept": "*/*"})
    proxies.base("203.0.113.9", {"accept": "*/*"})
    assert noticed == []

    proxies.client_address(STRANGER, headers)
    proxies.base("203.0.113.9", headers)
    assert noticed == ["203.0.113.9"] * 2


@pytest.mark.parametrize(
    ("peer", "headers", "public_url", "found"),
    [
        (PROXY, {}, "", "http://localhost:1"),
        (PROXY, {"host": "a:80"}, "", "http://a:80"),
        (PROXY, {"host": "a", "x-forwarded-prefix": "/b/"}, "", "http://a/b"),
        (STRANGER, {"host": "a", "x-forwarded-prefix": "/b"}, "", "http://a"),
        (
            PROXY,
            {"host": "a", "x-forwarded-host": "c", "x-forwarded-proto": "https"},
            "",
            "https://c",
        ),
        (PROXY, {"host": "a", "x-forwarded-prefix": "/b"}, "https://d/e/", "https://d/e"),
    ],
)
def test_links_begin_with_the_base_url_of_the_client(
    peer: str, headers: dict[str, str], public_url: str, found: str
) -> None:
    base_url = BaseUrl(TrustedProxies(read_networks(TRUSTED)), public_url, "localhost:1")

    assert base_url.of(peer, HeaderFields(headers)) == found


def test_networks_are_formatted_as_they_are_written() -> None:
    assert format_networks(read_networks("10.0.0.1, 10.0.0.0/8 ::1 fd00::/8")) == (
        "10.0.0.1, 10.0.0.0/8, ::1, fd00::/8"
    )
    assert format_networks(()) == "none"


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
def test_a_client_address_is_valid_or_empty(forwarded: str | None, peer: str, address: str) -> None:
    proxies = TrustedProxies(read_networks("0.0.0.0/0 ::/0"))

    received = request(forwarded, peer)

    assert proxies.client_address(received.peer, received.headers) == address
    assert proxies.client(received) == Client(address)


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
    assert TrustedProxies().client(request(forwarded)) == Client("192.0.2.7", reported)


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:0:1:2:3:4:5", "2001:db8:0:1::/64"),
        ("fe80::1", "fe80::/64"),
        ("", ""),
    ],
)
def test_the_network_of_a_subscriber_is_an_ipv4_address_or_a_64_of_ipv6(
    address: str, network: str
) -> None:
    assert network_of(address) == network
