"""The kinds of options that questions have, which are read from `Fields`.

Source: insights.md, "Strictness" and section 2.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, TypeVar

from fanion.insights.dates.bounds import Bound, parse_bound
from fanion.insights.parsing.conditions import LEAVES_MAX, parse_filter
from fanion.insights.parsing.fields import TIMES_STAND, Fields
from fanion.rest.json_schema import NOTHING, JsonSchema, listed, one_of, or_null, reference
from fanion.rest.options import Before, Option, Options, read, schemas_of, unread
from fanion.rest.posthog_insight_fields import OF_KINDS

CONDITION, GROUP = "InsightCondition", "InsightConditionGroup"

_Options = TypeVar("_Options", bound=Options)


@dataclass(frozen=True, slots=True)
class StrictOptions(Options):
    """Options of an object whose other options are refused, as they would change the answer.

    Attributes:
        called: What errors call the object.
        passed_over: Options that are not read, have no effect here and are not refused.
    """

    called: ClassVar[str]
    passed_over: ClassVar[Collection[str]] = ()

    @classmethod
    def check_unread(cls, fields: Fields) -> None:
        fields.refuse_unread(cls.called, cls.passed_over)


def read_question(kind: type[_Options], fields: Fields, name: str) -> _Options:
    """Read a question by `filters`.

    Args:
        name: What errors call the questions of this kind.

    Raises:
        Invalid: A value cannot be read, or an option is not calculated.
    """
    question = read(kind, fields)
    fields.refuse_unread(name, OF_KINDS.difference(schemas_of(kind)))
    return question


def whole(least: int, most: int, name: str = "", *, or_default: bool = False) -> Option:
    """Return the option of a whole number.

    Args:
        or_default: Whether 0 means the default.
    """

    def read_whole(fields: Fields, name: str, _: Before) -> int | None:
        number = fields.whole(name, least, most)
        return None if or_default and number == 0 else number

    schema = {"type": ["integer", "null"], "minimum": least, "maximum": most}
    return Option(read_whole, schema, name)


def wholes(least: int, most: int, items_max: int, name: str = "") -> Option:
    """Return the option of a list of whole numbers."""

    def read_wholes(fields: Fields, name: str, _: Before) -> tuple[int, ...]:
        return fields.wholes(name, least, most, items_max)

    item = {"type": "integer", "minimum": least, "maximum": most}
    return Option(read_wholes, listed(item, maxItems=items_max), name)


def number(most: float, name: str = "") -> Option:
    """Return the option of a number of any sign but 0.

    Args:
        most: The largest distance from 0.
    """

    def read_number(fields: Fields, name: str, _: Before) -> float | None:
        value = fields.number(name, most)
        if value == 0:
            raise fields.error(name, "Ensure this value is not 0.")
        return value

    zero = {"type": "integer", "enum": [0]}
    schema = {"type": ["number", "null"], "minimum": -most, "maximum": most, "not": zero}
    return Option(read_number, schema, name)


def switch(name: str = "") -> Option:
    schema = {"type": ["boolean", "null"]}
    return Option(lambda fields, name, _: fields.boolean(name), schema, name)


def text(chars_max: int | None = None, name: str = "") -> Option:
    def read_text(fields: Fields, name: str, _: Before) -> str | None:
        value = fields.text(name)
        if value is not None and chars_max is not None and len(value) > chars_max:
            detail = f"Ensure this field has no more than {chars_max} characters."
            raise fields.error(name, detail)
        return value

    return Option(read_text, {"type": ["string", "null"], **_longest(chars_max)}, name)


def texts(most: int, chars_max: int | None = None, name: str = "") -> Option:
    """Return the option of a list of texts.

    Args:
        chars_max: The length of each.
    """

    def read_texts(fields: Fields, name: str, _: Before) -> tuple[str, ...]:
        values = fields.texts(name, most)
        if chars_max is not None and any(len(value) > chars_max for value in values):
            detail = f"Ensure that each has no more than {chars_max} characters."
            raise fields.error(name, detail)
        return values

    schema = listed({"type": "string", **_longest(chars_max)}, maxItems=most)
    return Option(read_texts, schema, name)


def word(
    words: Collection[str],
    name: str = "",
    *,
    also: Collection[str] = (),
    refused: Mapping[str, str] | None = None,
) -> Option:
    """Return the option of one of some words.

    Args:
        words: The words, or a mapping of each to its value.
        also: Further words, which are accepted or refused, and not published.
        refused: Words that PostHog knows, with the error of each.
    """
    values = words if isinstance(words, Mapping) else {}

    def read_word(fields: Fields, name: str, _: Before) -> Any:
        sent = fields.raw(name)
        if refused and isinstance(sent, str) and sent in refused:
            raise fields.error(name, refused[sent])
        chosen = fields.choice(name, (*words, *also), "")
        return values.get(chosen, chosen or None)

    published = sorted(words) if isinstance(words, frozenset) else words
    return Option(read_word, or_null(one_of(published)), name, values)


def date(default: str | None = None, name: str = "") -> Option:
    """Return the option of a bound of a range.

    Args:
        default: The text that stands for none.
    """

    def read_date(fields: Fields, name: str, _: Before) -> Bound:
        times_stand = fields.boolean(TIMES_STAND)
        bound = parse_bound(fields.raw(name), fields.place(name))
        return replace(bound, stands=times_stand and bound.moment is not None)

    published = {} if default is None else {"default": default}
    return Option(read_date, {"type": ["string", "null"], **published}, name)


def _distance(fields: Fields, name: str, _: Before) -> Bound | None:
    """Read a distance back in time, such as `-1w`."""
    bound = parse_bound(fields.raw(name), fields.place(name))
    if bound.text is None:
        return None
    if not bound.is_distance or not bound.count:
        raise fields.error(name, "Must be a distance such as -1w.")
    return bound


DISTANCE: Final = Option(_distance, {"type": ["string", "null"]})
# A list or a tree of conditions.
CONDITIONS: Final = Option(
    lambda fields, name, _: parse_filter(
        fields.raw(name), fields.place(name), with_sql=True, with_segments=True
    ),
    {
        "anyOf": [
            {"type": "array", "items": reference(CONDITION), "maxItems": LEAVES_MAX},
            reference(GROUP),
            {"type": "object", "maxProperties": 0},
            {"type": "null"},
        ]
    },
)
# An option that PostHog has and that is not calculated: `refuse_unread` refuses it.
OFF_SCHEMA: Final = {**NOTHING, "description": "Not supported; leave it out."}
OFF: Final = unread(OFF_SCHEMA)


def _longest(chars_max: int | None) -> JsonSchema:
    return {} if chars_max is None else {"maxLength": chars_max}
