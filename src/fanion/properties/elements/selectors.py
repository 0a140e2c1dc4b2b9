"""CSS selectors as patterns over the chain of elements that a person clicked.

A chain is `a.small:attr__id="x"href="/"text="Go";div.menu:…`, innermost element first, with sorted
classes and attributes. Patterns have the RE2 syntax.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

PARTS_MAX: Final = 20  # elements that one selector names

_VALUE: Final = r'"(?:[^"\\]|\\.)*"'
_ATTRIBUTES: Final = rf'(?:[^"=;]*={_VALUE})*'
_CLASSES: Final = r'(?:\.[^;"=]*)?'
# Any one element of a chain.
_ELEMENT: Final = rf'[^";]*(?:{_VALUE}[^";]*)*'
_NAME: Final = r"-?[A-Za-z_][A-Za-z0-9_-]*"
_TAG: Final = re.compile(rf"\*|{_NAME}")
_TEST: Final = re.compile(
    rf"""\.(?P<class>{_NAME})
      | \#(?P<id>{_NAME})
      | \[\s*(?P<attribute>[A-Za-z_@][A-Za-z0-9_:.@-]*)\s*
          (?:=\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>{_NAME}))\s*)?\]
      | :(?P<position>nth-child|nth-of-type)\(\s*(?P<number>[0-9]{{1,6}})\s*\)""",
    re.VERBOSE,
)
_COMBINATOR: Final = re.compile(r"\s*(>)\s*|\s+")


class SelectorError(ValueError):
    """The error of a selector that cannot be compared with a chain."""


@dataclass(frozen=True, slots=True)
class _Compound:
    """A condition on one element, as a selector states it.

    Attributes:
        tag: Empty for any.
        attributes: Patterns of values by name, as chains name them.
        is_child: Whether the element lies directly within the one that is named before it.
    """

    tag: str
    classes: Sequence[str]
    attributes: Sequence[tuple[str, str]]
    is_child: bool


def selector_pattern(selector: str) -> str:
    """Return the pattern of chains that have an element for the selector.

    Raises:
        SelectorError: The selector cannot be read, or has a part that chains do not tell.
    """
    compounds = list(_compounds(selector.strip()))
    if len(compounds) > PARTS_MAX:
        raise SelectorError(f"A selector names at most {PARTS_MAX} elements.")
    pattern, is_child = "", True
    for compound in reversed(compounds):
        between = "" if is_child else f"(?:{_ELEMENT};)*"
        pattern += f"{between}{_pattern(compound)};"
        is_child = compound.is_child
    return f"(?:^|;){pattern[:-1]}(?:;|$)"


def tag_pattern(tag: str) -> str:
    """Return the pattern of chains that have an element with the tag.

    Raises:
        SelectorError: It is no name of a tag.
    """
    if not re.fullmatch(_NAME, tag):
        raise SelectorError("It must be the name of a tag, such as button.")
    return selector_pattern(tag)


def _compounds(selector: str) -> Iterator[_Compound]:
    position, is_child = 0, False
    while True:
        compound, position = _compound(selector, position, is_child)
        yield compound
        if position == len(selector):
            return
        combinator = _COMBINATOR.match(selector, position)
        if combinator is None:
            raise _unreadable(selector, position)
        position, is_child = combinator.end(), combinator.group(1) is not None


def _compound(selector: str, start: int, is_child: bool) -> tuple[_Compound, int]:
    tag, position = _TAG.match(selector, start), start
    if tag is not None:
        position = tag.end()
    classes: list[str] = []
    attributes: list[tuple[str, str]] = []
    while test := _TEST.match(selector, position):
        position = test.end()
        if test["class"] is not None:
            classes.append(test["class"])
        else:
            attributes.append(_attribute(test))
    if position == start:
        raise _unreadable(selector, position)
    name = "" if tag is None or tag.group() == "*" else tag.group()
    return _Compound(name, sorted(set(classes)), sorted(set(attributes)), is_child), position


def _attribute(test: re.Match[str]) -> tuple[str, str]:
    if test["id"] is not None:
        return "attr_id", _quoted(test["id"])
    if test["position"] is not None:
        return test["position"], _quoted(test["number"])
    values = (test[name] for name in ("double", "single", "bare"))
    value = next((value for value in values if value is not None), None)
    return f"attr__{test['attribute']}", _VALUE if value is None else _quoted(value)


def _quoted(value: str) -> str:
    return f'"{re.escape(value.replace(chr(34), chr(92) + chr(34)))}"'


def _pattern(compound: _Compound) -> str:
    tag = re.escape(compound.tag) or r'[^.:;"]*'
    classes = "".join(f"{_CLASSES}\\.{re.escape(name)}" for name in compound.classes)
    attributes = "".join(
        f"{re.escape(name)}={value}{_ATTRIBUTES}" for name, value in compound.attributes
    )
    return f"{tag}{classes}{_CLASSES}:{_ATTRIBUTES}{attributes}"


def _unreadable(selector: str, position: int) -> SelectorError:
    rest = selector[position : position + 20] or "its end"
    return SelectorError(
        f"It cannot be read at {rest}. Supported are tags, .class, #id, [attribute], "
        "[attribute=value], :nth-child(1), :nth-of-type(1), descendants and children (>)."
    )
