"""Types that generators of clients need, and that mean the same to a validator."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

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
    for schema in _schemas_of(node):
        kind = schema.get("type")
        if kind in _INTEGERS:
            schema.setdefault("format", "int64")
        if kind in _OBJECTS and not _NAMES.intersection(schema):
            schema["additionalProperties"] = {}


def describe_defaults(schema: Mapping[str, Any]) -> None:
    """Move the defaults of fields of request bodies into their descriptions.

    openapi-typescript requires fields with a default, others send it although it was not set.
    """
    reached: set[str] = set()
    waiting = [
        operation["requestBody"]
        for item in schema["paths"].values()
        for operation in item.values()
        if "requestBody" in operation
    ]
    while waiting:
        for node in _schemas_of(waiting.pop()):
            if "default" in node:
                text = f"By default `{msgspec.json.encode(node.pop('default')).decode()}`."
                node["description"] = f"{node.get('description', '')} {text}".lstrip()
            name = node.get("$ref", "").removeprefix("#/components/schemas/")
            if name and name not in reached:
                reached.add(name)
                waiting.append(schema["components"]["schemas"][name])


def _schemas_of(node: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects of a node that are no values."""
    if isinstance(node, dict):
        yield node
        for name, member in node.items():
            if name not in _VALUES:
                yield from _schemas_of(member)
    elif isinstance(node, list):
        for member in node:
            yield from _schemas_of(member)
