"""JSON Schema of conditions, built from the table of operators that validation uses.

Descriptions state what a schema cannot express: that a text is a regular expression or a date, and
that a range ascends.
"""

from collections.abc import Collection, Mapping, Sequence

from fanion.properties.filters import ID_MAX
from fanion.properties.operators import VALUES_MAX, ValueKind
from fanion.properties.values import NUMBER
from fanion.properties.versions import VERSION, WILDCARD
from fanion.rest.json_schema import JsonSchema, number_or_text, object_of, one_of, or_null

_SCALAR: JsonSchema = {"type": ["string", "number", "boolean"]}
# Without an operator, and with null for one, a condition is `exact`.
DEFAULT_OPERATOR = "exact"

# An id, or a number of times, as text.
POSITIVE = "^0*[1-9][0-9]*$"

VALUE_SCHEMAS: Mapping[ValueKind, JsonSchema] = {
    "any": {
        "description": "One value, or a list of alternatives.",
        "anyOf": [
            *({"type": kind} for kind in _SCALAR["type"]),
            {"type": "array", "items": _SCALAR, "minItems": 1, "maxItems": VALUES_MAX},
        ],
    },
    "one": _SCALAR,
    "text": {"type": "string"},
    "texts": {
        "description": "A list of alternatives.",
        "type": "array",
        "items": {"type": "string"},
        "maxItems": VALUES_MAX,
    },
    "pattern": {
        "description": "A regular expression in RE2 syntax: no look-around, no back-references.",
        "type": "string",
        "format": "regex",
    },
    "number": {
        "description": "A number, or a number as text.",
        **number_or_text(f"^ *{NUMBER} *$"),
    },
    "order": {
        "description": "A number or a text. Text that is not a number is compared as text.",
        "type": ["number", "string"],
    },
    "version": {
        "description": "A version, ordered as in semver.org: `1.4`, `v1.4.0`, `2.0.0-beta.1`.",
        **number_or_text(VERSION, minimum=0),
    },
    "wildcard": {
        "description": "A version whose last numbers may be wildcards: `1.4.*`.",
        **number_or_text(WILDCARD, minimum=0),
    },
    "range": {
        "description": "Lower and upper bound, both included.",
        "type": "array",
        "items": number_or_text(f"^ *{NUMBER} *$"),
        "minItems": 2,
        "maxItems": 2,
    },
    "date": {
        "description": "A date, a date with a time, or a relative date: `-7d`, in h, d, w, m or y.",
        "type": "string",
    },
    "none": {"description": "Ignored; leave it out.", "maxItems": VALUES_MAX},
    "cohort": {
        "description": "The id of a cohort of the project.",
        **number_or_text(POSITIVE, "integer", minimum=1, maximum=ID_MAX),
    },
    "flag": {
        "description": "true if the flag is on, false if it is off, or the key of its variant.",
        "type": ["boolean", "string"],
    },
}
# Descriptions for the table of operators in the documentation.
VALUE_WORDS: Mapping[ValueKind, str] = {
    "any": "text, number, boolean, or a list of them",
    "one": "text, number or boolean",
    "text": "text",
    "texts": "list of texts",
    "pattern": "regular expression (RE2)",
    "number": "number",
    "order": "number or text",
    "version": "version",
    "wildcard": "version with `*`",
    "range": "list of two numbers",
    "date": "date, or so long ago: `-7d`",
    "none": "none",
    "cohort": "id of a cohort",
    "flag": "true, false or a variant",
}


def condition_forms(
    values: Mapping[str, JsonSchema],
    fields: Mapping[str, JsonSchema],
    known: Collection[str],
    required: Sequence[str],
) -> list[JsonSchema]:
    """Return one schema for all operators that take the same values.

    Args:
        values: What each operator compares with.
        fields: Fields besides `operator` and `value`.
        known: Further names, as in `object_of`.
        required: Required names, as in `object_of`.
    """
    operators: dict[int, list[str]] = {}
    for name, value in values.items():
        operators.setdefault(id(value), []).append(name)
    return [_form(names, values[names[0]], fields, known, required) for names in operators.values()]


def _form(
    operators: Sequence[str],
    value: JsonSchema,
    fields: Mapping[str, JsonSchema],
    known: Collection[str],
    required: Sequence[str],
) -> JsonSchema:
    needed, operator = set(required), one_of(operators)
    if "operator" not in needed and DEFAULT_OPERATOR in operators:
        operator = {**or_null(operator), "default": DEFAULT_OPERATOR}
    else:
        needed.add("operator")
    if value is not VALUE_SCHEMAS["none"]:
        needed.add("value")
    return object_of({**fields, "operator": operator, "value": value}, known, sorted(needed))


def values_of(operators: Mapping[str, ValueKind]) -> dict[str, JsonSchema]:
    """Return the schema of the value of each operator."""
    return {name: VALUE_SCHEMAS[kind] for name, kind in operators.items()}
