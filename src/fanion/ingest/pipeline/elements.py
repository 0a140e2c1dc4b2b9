"""The clicked element and its ancestors, as one line of text."""

from collections.abc import Mapping
from typing import Any

TEXT_MAX = 400
HREF_MAX = 2048


def elements_chain(elements: list[Any]) -> str:
    """`a.small:href="/x"nth-child="1"nth-of-type="2"text="Go";div:…`, innermost first."""
    return ";".join(_element(element) for element in elements if isinstance(element, dict))


def _element(element: Mapping[str, Any]) -> str:
    attributes = {
        name: _text(value) for name, value in element.items() if name.startswith("attr__")
    }
    if text := _text(element.get("$el_text"))[:TEXT_MAX]:
        attributes["text"] = text
    if href := attributes.get("attr__href"):
        attributes["href"] = href[:HREF_MAX]
    if identifier := attributes.get("attr__id"):
        attributes["attr_id"] = identifier
    for name, key in (("nth-child", "nth_child"), ("nth-of-type", "nth_of_type")):
        attributes[name] = _text(element.get(key)) or "0"
    quoted = (f'{_escape(name)}="{_escape(attributes[name])}"' for name in sorted(attributes))
    return f"{_text(element.get('tag_name'))}{_classes(element)}:{''.join(quoted)}"


def _classes(element: Mapping[str, Any]) -> str:
    given = element.get("attr__class")
    names = given if isinstance(given, list) else _text(given).split()
    return "".join(f".{name}" for name in sorted(_text(name).replace('"', "") for name in names))


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _escape(text: str) -> str:
    return text.replace('"', '\\"')
