"""How a property value reads as text and as a number."""

import importlib
import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

# What reads as a number where both ends of a range do, in Python as in the event store.
NUMBER: Final = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_NUMBER = re.compile(NUMBER)

# Stands for "the property does not exist", which is not the same as null.
MISSING: Final = object()


def text_of(value: Any) -> str:
    """The value as conditions see it.

    Strings as they are; numbers in plain decimal, without an exponent; `True`, `False` and
    `None` with a capital; lists and objects as compact JSON.
    source: flags.md section 5
    """
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float_text(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def number_of(value: Any) -> float | None:
    """What Python reads as a number, as every SDK of the Python family does; None when nothing.

    Text may have blanks around it and an exponent; true counts as 1, false as 0.
    """
    if not isinstance(value, str | int | float):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def spaceless_number(value: Any) -> float | None:
    """As the calculation of cohorts reads what it compares with: blanks in a text do not count,
    booleans are no numbers, and infinity is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(str(value).replace(" ", ""))
    except (ValueError, OverflowError):
        return None
    return number if number - number == 0 else None


def finite(text: str) -> float | None:
    """A number without blanks around it; infinity is none."""
    number = float(text) if _NUMBER.fullmatch(text) else None
    return number if number is not None and abs(number) != float("inf") else None


def range_of(value: Any) -> tuple[float, float] | None:
    """The ends of a range, both of them in it: two numbers, the lesser first; None for anything
    else."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        return None
    low, high = (finite(text_of(end)) for end in value)
    return None if low is None or high is None or low > high else (low, high)


def _float_text(value: float) -> str:
    text = repr(value)
    return format(Decimal(text), "f") if "e" in text else text


_re2: Any = importlib.import_module("re2._re2")
_UNANCHORED = _re2.RE2.Anchor.UNANCHORED
_NOWHERE = (-1, -1)


def search(pattern: str) -> Callable[[str], bool] | None:
    """Compile into "is it found anywhere in the text"; None when RE2 cannot read the pattern.

    Case counts, `.` is any character but a line break, `$` is the end of the text.
    """
    options = _re2.RE2.Options()
    options.log_errors = False
    options.never_capture = True
    regex = _re2.RE2(_utf8(pattern), options)
    if not regex.ok():
        return None
    match = regex.Match

    def found(text: str) -> bool:
        encoded = _utf8(text)
        return bool(match(_UNANCHORED, encoded, 0, len(encoded))[0] != _NOWHERE)

    return found


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can carry
        return text.encode("utf-8", "replace")
