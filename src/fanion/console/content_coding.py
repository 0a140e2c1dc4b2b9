"""The choice of the content coding that a client prefers."""

import re
from collections.abc import Collection

ENTRIES_MAX = 32  # entries of Accept-Encoding that are read; browsers send four
_QUALITY = re.compile(r"\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*", re.IGNORECASE)


def preferred_coding(accept: str, available: Collection[str]) -> str:
    """Return the coding to answer with.

    Args:
        available: In order of preference. `identity` is available whatever the client says.

    Source: RFC 9110 section 12.5.3.
    """
    qualities = _coding_qualities(accept)
    best, best_quality = "identity", 0.0
    for coding in available:
        if coding != "identity" and (quality := _quality_of(coding, qualities)) > best_quality:
            best, best_quality = coding, quality
    return "identity" if qualities.get("identity", 0) > best_quality else best


def _quality_of(coding: str, qualities: dict[str, float]) -> float:
    return qualities.get(coding, qualities.get("*", 0))


def _coding_qualities(accept: str) -> dict[str, float]:
    qualities: dict[str, float] = {}
    for entry in accept.lower().split(",", ENTRIES_MAX)[:ENTRIES_MAX]:
        coding, _, parameter = entry.partition(";")
        match = _QUALITY.fullmatch(parameter)
        # "x-" marks aliases of HTTP/1.0, which some clients still send.
        name = coding.strip().removeprefix("x-")
        if name:
            qualities.setdefault(name, float(match[1]) if match else 1.0)
    return qualities
