"""A MaxMind database file with a few networks, written by its specification (version 2.0)."""

import struct
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Any

_MARKER = b"\xab\xcd\xefMaxMind.com"
_TREE_END = b"\x00" * 16
_RECORD_BITS = 24
_UINT16, _UINT32, _MAP, _UINT64, _ARRAY, _BOOLEAN = 5, 6, 7, 9, 11, 14

_Node = list[Any]  # two children: a node, the position of a record in the data, or None


class _Uint16(int):
    """A number whose width in the metadata readers insist on."""


class _Uint64(int):
    pass


def write_maxmind(path: Path, records: Mapping[str, Any], kind: str = "Test-City") -> Path:
    """Write a database file.

    Args:
        records: By IPv4 or IPv6 network, in the usual notation.
    """
    data, places = b"", {}
    for network, record in records.items():
        places[network] = len(data)
        data += _encode(record)
    root: _Node = [None, None]
    for network, position in places.items():
        _insert(root, network, position)
    nodes = _numbered(root)
    tree = b"".join(_record(side, nodes) for node, _ in nodes.values() for side in node)
    metadata = {
        "binary_format_major_version": _Uint16(2),
        "binary_format_minor_version": _Uint16(0),
        "build_epoch": _Uint64(1_700_000_000),
        "database_type": kind,
        "description": {"en": "made for a test"},
        "ip_version": _Uint16(6),
        "languages": ["en"],
        "node_count": len(nodes),
        "record_size": _Uint16(_RECORD_BITS),
    }
    path.write_bytes(tree + _TREE_END + data + _MARKER + _encode(metadata))
    return path


def _insert(root: _Node, network: str, position: int) -> None:
    """Insert a network into the tree; IPv4 lies under ::/96."""
    parsed = ip_network(network)
    bits = f"{int(parsed.network_address):0128b}"
    length = parsed.prefixlen + (96 if parsed.version == 4 else 0)
    node = root
    for bit in bits[: length - 1]:
        side = int(bit)
        if node[side] is None:
            node[side] = [None, None]
        node = node[side]
    node[int(bits[length - 1])] = position


def _numbered(root: _Node) -> dict[int, tuple[_Node, int]]:
    """Return the nodes in order, by identity."""
    numbered = {id(root): (root, 0)}
    waiting = [root]
    while waiting:
        for side in waiting.pop(0):
            if isinstance(side, list):
                numbered[id(side)] = (side, len(numbered))
                waiting.append(side)
    return numbered


def _record(side: Any, nodes: Mapping[int, tuple[_Node, int]]) -> bytes:
    """Encode a node's number, the count of nodes for nothing, or more for a data position."""
    if side is None:
        number = len(nodes)
    elif isinstance(side, list):
        number = nodes[id(side)][1]
    else:
        number = len(nodes) + len(_TREE_END) + int(side)
    return number.to_bytes(_RECORD_BITS // 8, "big")


_INTEGERS: dict[type, int] = {_Uint16: _UINT16, _Uint64: _UINT64}


def _encode(value: Any) -> bytes:
    match value:
        case bool():
            return _control(_BOOLEAN, int(value))
        case str():
            raw = value.encode()
            return _control(2, len(raw)) + raw
        case float():
            return _control(3, 8) + struct.pack(">d", value)
        case int():
            raw = value.to_bytes((value.bit_length() + 7) // 8, "big")
            return _control(_INTEGERS.get(type(value), _UINT32), len(raw)) + raw
        case list():
            return _control(_ARRAY, len(value)) + b"".join(map(_encode, value))
        case dict():
            pairs = (_encode(key) + _encode(item) for key, item in value.items())
            return _control(_MAP, len(value)) + b"".join(pairs)
    raise TypeError(f"no way to write {value!r}")


def _control(kind: int, size: int) -> bytes:
    """Encode a kind and a size: kinds past 7 take another byte, and so do sizes from 29 on."""
    first, rest = (size, b"") if size < 29 else (29, bytes([size - 29]))
    assert size < 285
    if kind <= 7:
        return bytes([kind << 5 | first]) + rest
    return bytes([first, kind - 7]) + rest
