"""How a property value reads as text and as a number."""

import json
import re
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
