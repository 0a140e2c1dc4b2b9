"""The type that a property seems to have. source: capture.md section 6"""

import re
from collections.abc import Mapping
from enum import StrEnum

# Properties that describe a person or a group, not the event.
UNTRACKED = frozenset(
    ["$set", "$set_once", "$unset", "$groups", *(f"$group_{index}" for index in range(5))]
)

_UNIX_TIME = re.compile(r"\d{10}(\.\d+)?|\d{13}", re.ASCII)
_CLOCK = r"[ ]\d{2}:\d{2}:\d{2}"
_DAY = r"[A-Z][a-z]{2}"
_DATE_TIME = re.compile(
    rf"""
      \d{{4}}-\d{{2}}-\d{{2}}                                              # 2024-03-01
    | \d{{4}}-\d{{2}}-\d{{2}}T\d{{2}}:\d{{2}}:\d{{2}}(\.\d+)?(Z|[+-]\d{{2}}:?\d{{2}})
    | \d{{4}}[-/]\d{{2}}[-/]\d{{2}}{_CLOCK}
    | \d{{2}}[-/]\d{{2}}[-/]\d{{4}}{_CLOCK}
    | ({_DAY},[ ])?\d{{1,2}}[ ]{_DAY}[ ]\d{{4}}[ ]
      \d{{2}}:\d{{2}}(:\d{{2}})?[ ]([A-Z]{{1,5}}|[+-]\d{{4}})
    """,
    re.ASCII | re.VERBOSE,
)
_TEXT_MAX = 64  # longer text is no date


class PropertyType(StrEnum):
    NUMERIC = "Numeric"
    STRING = "String"
    DATETIME = "DateTime"


def detect_type(name: str, value: object) -> PropertyType | None:
    """The type of one value; None for booleans, null, lists and objects."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return PropertyType.DATETIME if _is_unix_time(name, str(value)) else PropertyType.NUMERIC
    if isinstance(value, str):
        return PropertyType.DATETIME if _is_date_text(name, value) else PropertyType.STRING
    return None


def detect_types(properties: Mapping[str, object]) -> dict[str, PropertyType | None]:
    """The tracked properties of an event, with their types."""
    return {
        name: detect_type(name, value)
        for name, value in properties.items()
        if name not in UNTRACKED
    }


def _is_unix_time(name: str, text: str) -> bool:
    return "time" in name.lower() and _UNIX_TIME.fullmatch(text) is not None


def _is_date_text(name: str, text: str) -> bool:
    if len(text) > _TEXT_MAX:
        return False
    return _DATE_TIME.fullmatch(text) is not None or _is_unix_time(name, text)
