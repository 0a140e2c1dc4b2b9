"""Versions as semver.org orders them, converted to text that sorts in this order.

They are read leniently, as PostHog's service does: with a leading `v`, without the last numbers
(`1.2` is 1.2.0) and with leading zeros. Build metadata is ignored.

Source: semver.org 2.0.0, section 11.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from fanion.properties.values import text_of

# Digits of one number; text with a longer number is not a version.
DIGITS_MAX: Final = 20
_NUMBER: Final = r"0*([0-9]{1,20})"
_NUMERIC: Final = r"(?:0|[1-9][0-9]{0,19})"
_IDENTIFIER: Final = rf"(?:{_NUMERIC}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_BUILD: Final = r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
# Python and RE2 read this pattern alike. Groups: major, minor, patch, pre-release.
VERSION: Final = (
    rf"^ *[vV]?{_NUMBER}(?:\.{_NUMBER}(?:\.{_NUMBER})?)?"
    rf"(?:-({_IDENTIFIER}(?:\.{_IDENTIFIER})*))?{_BUILD} *$"
)
# Marks a release; sorts after every pre-release.
RELEASED: Final = "~"
# Prefixes of the parts of a pre-release, so that numbers sort before words.
NUMERIC, WORD = "0", "1"
END: Final = " "  # ends a part; sorts before everything that may follow

_VERSION = re.compile(VERSION)
WILDCARD: Final = (
    rf"^ *(?:[vV]?{_NUMBER}(?:\.{_NUMBER}(?:\.{_NUMBER})?)?(?:\.[*xX])*|[*xX](?:\.[*xX])*) *$"
)
_WILDCARD = re.compile(WILDCARD)
_LEAST, _GREATEST = "0", "\x7f"
_NEXT: Final = "\0"  # appended, gives the text that sorts right after

Numbers = tuple[int, int, int]
Window = tuple[str, str]


def version_key(text: str) -> str | None:
    """Return text that sorts as the version does; None if the text is not a version."""
    match = _VERSION.fullmatch(text)
    if match is None:
        return None
    core = "".join((match[part] or "").zfill(DIGITS_MAX) for part in (1, 2, 3))
    if match[4] is None:
        return core + RELEASED
    return core + "".join(map(_part_key, match[4].split(".")))


def _part_key(part: str) -> str:
    if part.isdigit():
        return NUMERIC + part.zfill(DIGITS_MAX) + END
    return WORD + part + END


def version_window(operator: str, value: Any) -> Window | None:
    """Return the keys that a version operator selects, from the first and before the second.

    Returns:
        None if the operator cannot compare with the value. The window of `semver_neq` is what it
        excludes.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = text_of(value)
    if operator == "semver_wildcard":
        return _wildcard(text)
    key = version_key(text)
    if key is None:
        return None
    if operator in ("semver_tilde", "semver_caret"):
        above = _above_tilde if operator == "semver_tilde" else _above_caret
        return key, _below(above(_numbers(key)))
    return _ORDER[operator](key)


_ORDER: Mapping[str, Callable[[str], Window]] = {
    "semver_eq": lambda key: (key, key + _NEXT),
    "semver_neq": lambda key: (key, key + _NEXT),
    "semver_gt": lambda key: (key + _NEXT, _GREATEST),
    "semver_gte": lambda key: (key, _GREATEST),
    "semver_lt": lambda key: (_LEAST, key),
    "semver_lte": lambda key: (_LEAST, key + _NEXT),
}


def _wildcard(text: str) -> Window | None:
    """Return the window of `1.2.*`, `1.*` or `*`."""
    match = _WILDCARD.fullmatch(text)
    if match is None:
        return None
    given = [int(part) for part in match.groups() if part is not None]
    if not given:
        return _LEAST, _GREATEST
    low = (*given, 0, 0)[:3]
    given[-1] += 1
    high = (*given, 0, 0)[:3]
    return _core(low) + RELEASED, _below(high)


def _numbers(key: str) -> Numbers:
    major, minor, patch = (int(key[n * DIGITS_MAX : (n + 1) * DIGITS_MAX]) for n in range(3))
    return major, minor, patch


def _above_tilde(version: Numbers) -> Numbers:
    return version[0], version[1] + 1, 0


def _above_caret(version: Numbers) -> Numbers:
    """Return the lowest version in which the first number that is not 0 is higher."""
    major, minor, patch = version
    if major:
        return major + 1, 0, 0
    return (0, minor + 1, 0) if minor else (0, 0, patch + 1)


def _core(numbers: tuple[int, ...]) -> str:
    return "".join(str(number).zfill(DIGITS_MAX) for number in numbers)


def _below(version: Numbers | tuple[int, ...]) -> str:
    """Return the key that excludes a version and its pre-releases from a range."""
    return _core(version)
