"""Types that generators of clients need, and that mean the same to a validator."""

from collections.abc import Mapping
from typing import Any

_INTEGERS = ("integer", ["integer", "null"], ["null", "integer"])
_OBJECTS = ("object", ["object", "null"], ["null", "object"])
# Members that say which names an object has. An object with none of them may have any.
_NAMES = frozenset({"properties", "additionalProperties", "propertyNames", "maxProperties"})
# Members of a schema that hold values and no schemas.
_VALUES = frozenset({"default", "enum", "example", "examples"})


def publish_null_fields(schemas: Mapping[str, Any]) -> None:
    """Publish fields of responses that are always null without a type.

    Generators have no type that is null alone.
    """
    for component in schemas.values():
        for field in component.get("properties", {}).values():
            if field.get("type") == "null":
                del field["type"]
                field.setdefault("description", "Always null.")


def complete_types(node: Any) -> None:
    """Complete the types of all integers and objects below a node of the document.

    Integers fit 64 bits: without a format, clients in Go or Java take 32. Objects that may have
    any names say so: without it, clients in TypeScript take none.
    """
    if isinstance(node, dict):
        kind = node.get("type")
        if kind in _INTEGERS:
            node.setdefault("format", "int64")
        if kind in _OBJECTS and not _NAMES.intersection(node):
            node["additionalProperties"] = {}
        for name, member in node.items():
            if name not in _VALUES:
                complete_types(member)
    elif isinstance(node, list):
        for member in node:
            complete_types(member)
