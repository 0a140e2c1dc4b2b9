"""Conditions on the elements that a person clicked: their keys, operators and values."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from fanion.properties.elements.selectors import SelectorError, selector_pattern, tag_pattern
from fanion.properties.values import compile_pattern

# The property that has the elements of an event.
CHAIN: Final = "$elements_chain"
# Characters of the pattern of all values of one condition.
PATTERN_CHARS_MAX: Final = 20_000

_OF_TEXT: Final = (
    *("exact", "is_not", "icontains", "not_icontains", "icontains_multi", "not_icontains_multi"),
    *("starts_with", "not_starts_with", "ends_with", "not_ends_with", "regex", "not_regex"),
    *("is_set", "is_not_set"),
)
_OF_ELEMENTS: Final = ("exact", "is_not")
OPERATORS_OF_ELEMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "text": _OF_TEXT,
    "href": _OF_TEXT,
    "tag_name": _OF_ELEMENTS,
    "selector": _OF_ELEMENTS,
}
# The operators that hold if no element fulfils another one.
OPPOSITES: Final[Mapping[str, str]] = {
    "is_not": "exact",
    "is_not_set": "is_set",
    **{name: name.removeprefix("not_") for name in _OF_TEXT if name.startswith("not_")},
}
_PATTERNS: Final[Mapping[str, Callable[[str], str]]] = {
    "tag_name": tag_pattern,
    "selector": selector_pattern,
}


def is_of_whole_elements(key: object) -> bool:
    """Return whether a condition compares elements, rather than an attribute of theirs."""
    return key in _PATTERNS


def elements_pattern(key: str, value: Any) -> str:
    """Return the pattern of chains that have an element for one of the values.

    Args:
        key: `tag_name` or `selector`.
        value: A text, or a list of texts.

    Raises:
        SelectorError: A value is no tag or no selector, or they are too long together.
    """
    values = value if isinstance(value, list | tuple) else [value]
    patterns = [_PATTERNS[key](one) for one in dict.fromkeys(map(_text, values))]
    if not patterns:
        raise SelectorError("It needs a value.")
    pattern = patterns[0] if len(patterns) == 1 else "|".join(f"(?:{one})" for one in patterns)
    if len(pattern) > PATTERN_CHARS_MAX or compile_pattern(pattern) is None:
        raise SelectorError("The values are too long together.")
    return pattern


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise SelectorError("It must be a text or a list of texts.")
    return value
