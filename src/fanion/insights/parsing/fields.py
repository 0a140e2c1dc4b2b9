"""The fields of a question by the names of `filters`, and where in the request each was sent.

Source: insights.md, "Strictness" and sections 1c and 15.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeVar

from fanion.errors import Invalid
from fanion.rest.posthog_insight_fields import ACCOMPANYING, DRAWN, IDLE
from fanion.rest.unknown_fields import no_choice

_Word = TypeVar("_Word", bound=str)

# Set for a `query`, whose times are not rounded to days. Clients cannot set it in `filters`.
TIMES_STAND = "times_stand"

_TRUE = frozenset({"true", "True", "1", 1})
_FALSE = frozenset({"", "false", "False", "0", 0})
_DIGITS_MAX = 18
_NUMBER = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?", re.ASCII)
# Values that ask for nothing, whatever the option.
_NOTHING: tuple[object, ...] = (None, "", False, [], {}, "false", "False")


class Fields:
    """A reader of typed values that remembers which fields were read.

    Every method raises Invalid, with the place in the request, for a value that it cannot read.

    Args:
        values: Decoded JSON, or the texts of a query string.
        places: Maps names to places in the request, for values that were sent under other names.
            Nested values are named by their path, such as `events__0__id`.
        at: The place of `values` in the request.
        path: The path of `values` in `places`.
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        places: Mapping[str, str] | None = None,
        at: str = "",
        path: str = "",
    ) -> None:
        self.values = values
        self.places = places or {}
        self.at = at
        self._path = path
        self._read: set[str] = set()

    def place(self, name: str) -> str:
        return self.places.get(join_place(self._path, name)) or join_place(self.at, name)

    def error(self, name: str, detail: str) -> Invalid:
        return Invalid(detail, attr=self.place(name) or None)

    def required(self, name: str) -> Invalid:
        """Return the error for a field that is not given."""
        return Invalid("This field is required.", code="required", attr=self.place(name))

    def raw(self, name: str) -> Any:
        self._read.add(name)
        return self.values.get(name)

    def text(self, name: str) -> str | None:
        value = self.raw(name)
        if value is None or value == "":
            return None
        if not isinstance(value, str):
            raise self.error(name, "Not a valid string.")
        return value

    def texts(self, name: str, most: int) -> tuple[str, ...]:
        value = self.raw(name)
        if value is None or value == "":
            return ()
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.error(name, "Must be a list of strings.")
        if len(value) > most:
            raise self.error(name, f"Ensure this list has at most {most} elements.")
        return tuple(value)

    def boolean(self, name: str) -> bool:
        value = self.raw(name)
        if value is None or (isinstance(value, str | int) and value in _FALSE):
            return False
        if isinstance(value, str | int) and value in _TRUE:
            return True
        raise self.error(name, "Must be a valid boolean.")

    def whole(self, name: str, least: int, most: int) -> int | None:
        """Return a whole number, also from a text of digits; None when it is not given."""
        value = self.raw(name)
        if value is None or value == "":
            return None
        if isinstance(value, str) and len(value) <= _DIGITS_MAX and _is_whole(value):
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(name, "A valid integer is required.")
        if not least <= value <= most:
            raise self.error(name, f"Ensure this value is between {least} and {most}.")
        return value

    def wholes(self, name: str, least: int, most: int, items_max: int) -> tuple[int, ...]:
        """Return a list of whole numbers, which are no texts."""
        value = self.raw(name)
        if value is None or value == "":
            return ()
        if not isinstance(value, list):
            raise self.error(name, "Must be a list of whole numbers.")
        if len(value) > items_max:
            raise self.error(name, f"Ensure this list has at most {items_max} elements.")
        numbers = [self._item_number(name, item) for item in value]
        if not all(least <= number <= most for number in numbers):
            raise self.error(name, f"Ensure that each is between {least} and {most}.")
        return tuple(numbers)

    def _item_number(self, name: str, item: object) -> int:
        if isinstance(item, float) and item.is_integer():
            return int(item)
        if isinstance(item, bool) or not isinstance(item, int):
            raise self.error(name, "Must be a list of whole numbers.")
        return item

    def number(self, name: str, most: float) -> float | None:
        """Return a number, also from text; None when it is not given.

        Args:
            most: The largest distance from 0.
        """
        value = self.raw(name)
        if value is None or value == "":
            return None
        if isinstance(value, str) and _NUMBER.fullmatch(value):
            value = float(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(name, "A valid number is required.")
        if not -most <= value <= most:
            raise self.error(name, f"Ensure this value is between {-most} and {most}.")
        return float(value)

    def choice(self, name: str, words: Collection[_Word], default: _Word) -> _Word:
        value = self.raw(name)
        if value is None or value == "":
            return default
        for word in words:
            if value == word:
                return word
        raise no_choice(value, words, self.place(name))

    def inner(self, name: str) -> "Fields | None":
        """Return the fields of the object with this name, None without one."""
        value = self.raw(name)
        if value is None or value == "" or value == {}:
            return None
        if not isinstance(value, dict):
            raise self.error(name, "Must be a JSON object.")
        return self.within(name, value)

    def within(self, name: str, value: Mapping[str, Any]) -> "Fields":
        """Return the fields of `value`, the object with this name."""
        return Fields(value, self.places, self.place(name), join_place(self._path, name))

    def items(self, name: str, most: int) -> "tuple[Fields, ...]":
        """Return the fields of each object in the list with this name."""
        value = self.raw(name)
        if value is None or value == "":
            return ()
        if not isinstance(value, list):
            raise self.error(name, "Must be a list.")
        if len(value) > most:
            raise self.error(name, f"Ensure this list has at most {most} elements.")
        return tuple(self._item(name, number, item) for number, item in enumerate(value))

    def _item(self, name: str, number: int, value: Any) -> "Fields":
        if not isinstance(value, dict):
            raise Invalid("Must be a JSON object.", attr=f"{self.place(name)}__{number}")
        return self.item(name, number, value)

    def item(self, name: str, number: int, value: Mapping[str, Any]) -> "Fields":
        """Return the fields of `value`, an object in the list with this name."""
        path, at = join_place(self._path, f"{name}__{number}"), f"{self.place(name)}__{number}"
        return Fields(value, self.places, self.places.get(path, at), path)

    def refuse_unread(self, kind: str, passed_over: Collection[str]) -> None:
        """Raise Invalid for an option that was not read: ignoring it would give a wrong number.

        Args:
            passed_over: Options that only have a meaning for other kinds.
        """
        for name in self._unread(passed_over):
            sent = self.place(name).rpartition("__")[2]
            raise self.error(name, f"{kind} with {sent} are not supported. Leave it out.")

    def _unread(self, passed_over: Collection[str]) -> Iterator[str]:
        for name, value in self.values.items():
            if name in self._read or name in DRAWN or name in ACCOMPANYING or name in passed_over:
                continue
            if type(value) in (int, str) and str(value) == IDLE.get(name):
                continue
            if not any(type(value) is type(nothing) and value == nothing for nothing in _NOTHING):
                yield name


def join_place(at: str, name: str) -> str:
    """Return the place of a name within an object, as `attr` writes it."""
    return f"{at}__{name}" if at else name


def check_sampling(factor: object, at: str) -> None:
    """Raise Invalid for a factor that asks for a sample of the persons: answers are exact."""
    if factor in (None, ""):
        return
    try:
        is_whole = not isinstance(factor, bool) and float(str(factor)) == 1
    except ValueError:
        is_whole = False
    if not is_whole:
        detail = "Sampling is not supported, since answers are exact. Leave it out, or set it to 1."
        raise Invalid(detail, attr=at)


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isdecimal() and text.isascii()


def with_request_place(error: Invalid, places: Mapping[str, str]) -> Invalid:
    """Return an error of a calculation, which names fields as `filters` do, with its real place.

    Args:
        places: The places as in `Fields`.
    """
    if error.attr is None or error.attr not in places:
        return error
    return Invalid(error.detail, code=error.code, attr=places[error.attr])
