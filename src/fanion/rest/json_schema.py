"""The shapes of JSON Schema that are published, for which generators of clients have types."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

JsonSchema = dict[str, Any]

# The value of a field that has to be empty. Other empty values are accepted and not published. A
# field that can only be null is one that is never sent to openapi-fetch, so the empty list is too.
NOTHING: JsonSchema = {"type": ["array", "null"], "items": {}, "maxItems": 0}


def object_of(
    fields: Mapping[str, JsonSchema], known: Collection[str] = (), required: Sequence[str] = ()
) -> JsonSchema:
    """Return the schema of an object with no other names than these.

    Args:
        known: Further names, with any value, which clients send and which have no effect.
    """
    schema: JsonSchema = {
        "type": "object",
        **only_names(fields, known),
        "properties": dict(fields),
    }
    if required:
        schema["required"] = list(required)
    return schema


def only_names(fields: Collection[str], known: Collection[str]) -> JsonSchema:
    """Return the part of an object's schema that rejects all other names.

    Names with any value are an enum: generators of clients make fields of properties, and a pattern
    of all names would be a key too long for YAML.

    Args:
        fields: Names that the schema has properties for.
        known: Further names, with any value.
    """
    if others := set(known).difference(fields):
        return {"propertyNames": one_of(sorted(others.union(fields)))}
    return {"additionalProperties": False}


def number_or_text(pattern: str, kind: str = "number", **bounds: int) -> JsonSchema:
    """Return the schema of a number, or of one as text.

    They are alternatives, since generators of clients have no pattern for a number.
    """
    return {"anyOf": [{"type": kind, **bounds}, {"type": "string", "pattern": pattern}]}


def one_of(words: Iterable[str]) -> JsonSchema:
    """Return the schema of a text that is one of some words."""
    return {"type": "string", "enum": list(words)}


def or_null(schema: JsonSchema) -> JsonSchema:
    """Return the schema of a value that may be null too.

    Null is an alternative and no entry of an enum: an enum of two types has no equivalent in most
    languages.
    """
    return {"anyOf": [schema, {"type": "null"}]}


def listed(items: JsonSchema, **more: Any) -> JsonSchema:
    """Return the schema of a list, which may be null."""
    return {"type": ["array", "null"], "items": items, **more}


def reference(name: str) -> JsonSchema:
    """Return a reference to a component of the OpenAPI document."""
    return {"$ref": f"#/components/schemas/{name}"}
