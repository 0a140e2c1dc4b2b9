"""How a property value reads as text and as a number."""

import json
from decimal import Decimal
from typing import Any, Final

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


def _float_text(value: float) -> str:
    text = repr(value)
    return format(Decimal(text), "f") if "e" in text else text
