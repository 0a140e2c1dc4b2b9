"""Which addresses a webhook may be sent to: those of the public internet, and no other.

A webhook is a request that somebody else chooses: it must not reach what only this machine or
its network can reach.
"""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address

# Translates to the IPv4 address in its last four bytes. source: RFC 6052
_NAT64 = IPv6Network("64:ff9b::/96")
_EMBEDDED = 0xFFFFFFFF


def refusal(text: str) -> str | None:
    """What kind of address it is that no webhook is sent to; None for a public one.

    text: an address, IPv6 perhaps with its zone
    """
    address = _reached(ip_address(text.partition("%")[0]))
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


def _reached(address: Address) -> Address:
    """IPv6 addresses that stand for an IPv4 one are that one."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & _EMBEDDED)
    return address.ipv4_mapped or address.sixtofour or address
