"""The key of a question, whichever way it was asked."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from hashlib import sha256
from typing import Any

import msgspec

from fanion.insights.query import InsightQuery

CHARS = 40
_encode = msgspec.json.Encoder(order="deterministic").encode


def question_key(query: InsightQuery, *of_project: object) -> str:
    """Return the key of a question: the same if `filters` and a `query` ask for the same.

    The order of names does not matter.

    Args:
        of_project: What else the answer depends on, such as the time zone and the conditions on
            test accounts.
    """
    return sha256(_encode([_plain(query), _plain(of_project)])).hexdigest()[:CHARS]


def _plain(value: Any) -> Any:
    """Return a value in plain types, without fields that frozen types do not compare.

    An example of such a field is the text that the value was read from.
    """
    if is_dataclass(value) and not isinstance(value, type):
        own = {
            part.name: _plain(getattr(value, part.name)) for part in fields(value) if part.compare
        }
        return [type(value).__name__, own]
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, set | frozenset):
        return sorted((_plain(part) for part in value), key=_encode)
    if value is None or isinstance(value, str | int | float):
        return value
    return [type(value).__name__, str(value)]
