"""The check that a JSON value is of the kind that a table of cases names."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

Kinds = Mapping[str, Mapping[str, str]]

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


def _is_time(value: object) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


def _is_uuid(value: object) -> bool:
    try:
        return isinstance(value, str) and str(UUID(value)) == value
    except ValueError:
        return False


def _is_address(value: object) -> bool:
    return isinstance(value, str) and urlsplit(value).scheme in {"http", "https"}


WORDS: Mapping[str, Callable[[Any], bool]] = {
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "text": lambda value: isinstance(value, str),
    "uuid": _is_uuid,
    "time": _is_time,
    "e-mail": lambda value: isinstance(value, str) and _EMAIL.fullmatch(value) is not None,
    "address": _is_address,
    "object": lambda value: isinstance(value, dict),
    "list": lambda value: isinstance(value, list),
    "null": lambda value: value is None,
}


@dataclass(frozen=True)
class Shapes:
    """The documented objects.

    A kind is one of WORDS, the name of an object, `list of …`, `map of …`, `page of …`, or several
    of these joined by ` or `.

    Attributes:
        objects: By name, the kind of each field; with a `*` there may be more fields.
    """

    objects: Kinds

    def problems(self, value: Any, kind: str, where: str = "") -> Iterator[str]:
        """Yield where the value is not of its kind, and why; nothing if it is."""
        if kind.startswith(("list of ", "map of ")):
            yield from self._each(value, kind, where)
        elif kind.startswith("page of "):
            yield from self._object(value, "page", where)
            if isinstance(value, dict) and "results" in value:
                inner = kind.removeprefix("page of ")
                yield from self.problems(value["results"], f"list of {inner}", f"{where}/results")
        elif " or " in kind:
            if all(any(self.problems(value, alternative)) for alternative in kind.split(" or ")):
                yield f"{where}: {value!r} is no {kind}"
        elif kind in self.objects:
            yield from self._object(value, kind, where)
        elif not WORDS[kind](value):
            yield f"{where}: {value!r} is no {kind}"

    def _each(self, value: Any, kind: str, where: str) -> Iterator[str]:
        whole, _, inner = kind.partition(" of ")
        if not isinstance(value, list if whole == "list" else dict):
            yield f"{where}: {value!r} is no {kind}"
            return
        pairs = enumerate(value) if isinstance(value, list) else value.items()
        for name, item in pairs:
            yield from self.problems(item, inner, f"{where}/{name}")

    def _object(self, value: Any, kind: str, where: str) -> Iterator[str]:
        fields = self.objects[kind]
        if not isinstance(value, dict):
            yield f"{where}: {value!r} is no {kind}"
            return
        for name in sorted(fields.keys() - value.keys() - {"*"}):
            yield f"{where}/{name}: is missing"
        if "*" not in fields:
            for name in sorted(value.keys() - fields.keys()):
                yield f"{where}/{name}: is no field of it"
        for name in fields.keys() & value.keys():
            yield from self.problems(value[name], fields[name], f"{where}/{name}")


def holds(actual: Any, expected: Any) -> bool:
    """Return whether everything wanted is there; objects may have more fields."""
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(
            name in actual and holds(actual[name], value) for name, value in expected.items()
        )
    if isinstance(expected, list):
        return (
            isinstance(actual, list)
            and len(actual) == len(expected)
            and all(holds(item, value) for item, value in zip(actual, expected, strict=True))
        )
    return bool(actual == expected)
