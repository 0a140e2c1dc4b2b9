"""Statements for a cluster, as one engine without Keeper can run them."""

import re
from typing import Final

_CHANGES: Final = re.compile(r"\s*(CREATE|ALTER|DROP|KILL|TRUNCATE)\b")
_ON_CLUSTER: Final = re.compile(r"\s+ON CLUSTER `(?:[^`\\]|\\.)*`")
_REPLICATED: Final = re.compile(r"\bReplicated(\w*MergeTree)\('[^']*', '[^']*'(?:, )?")
_WINDOW: Final = re.compile(r"(?<!non_)\breplicated_deduplication_window =")


def alone(statement: str) -> str:
    """Return a statement without its cluster, and with tables that nobody replicates."""
    if not _CHANGES.match(statement):
        return statement
    plain = _REPLICATED.sub(r"\1(", _ON_CLUSTER.sub("", statement))
    return _WINDOW.sub("non_replicated_deduplication_window =", plain)
