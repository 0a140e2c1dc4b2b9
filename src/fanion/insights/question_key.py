"""What identifies a question, whichever way it was asked."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from hashlib import sha256
from typing import Any

import msgspec

from fanion.insights.query import InsightQuery

CHARS = 40
_encode = msgspec.json.Encoder(order="deterministic").encode


def question_key(query: InsightQuery, *of_project: object) -> str:
    """The same for `filters` and a `query` that ask for the same, in any order of names.

    of_project: what else the answer depends on: its time zone, its conditions on test accounts
    """
    return sha256(_encode([_plain(query), _plain(of_project)])).hexdigest()[:CHARS]


def _plain(value: Any) -> Any:
    """Without what frozen parts say is no part of them, such as the text that they were read
    from."""
    if is_dataclass(value) and not isinstance(value, type):
        own = {one.name: _plain(getattr(value, one.name)) for one in fields(value) if one.compare}
        return [type(value).__name__, own]
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, set | frozenset):
        return sorted((_plain(one) for one in value), key=_encode)
    if value is None or isinstance(value, str | int | float):
        return value
    return [type(value).__name__, str(value)]
