"""The options of a question, which are annotated fields of frozen types.

`step_limit: Annotated[int, whole(1, 20), "Steps of a path."] = 5` says which values clients may
send, what is published about them, and what holds without one. Options are read in the order of the
fields, which is the order in which problems are reported. The JSON Schema is made of the same
fields.

Source: insights.md, "Strictness" and section 2.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, replace
from dataclasses import fields as fields_of
from typing import Annotated, Any, ClassVar, Final, Self, TypeVar, get_args, get_origin
from typing import get_type_hints as type_hints

from fanion.insights.dates.bounds import Bound, parse_bound
from fanion.insights.parsing.conditions import LEAVES_MAX, parse_filter
from fanion.insights.parsing.fields import TIMES_STAND, Fields
from fanion.properties.json_schema import (
    NOTHING,
    JsonSchema,
    listed,
    object_of,
    one_of,
    or_null,
    reference,
)
from fanion.rest.posthog_insight_fields import OF_KINDS

CONDITION, GROUP = "InsightCondition", "InsightConditionGroup"

Before = Mapping[str, Any]
_Options = TypeVar("_Options", bound="Options")


@dataclass(frozen=True, slots=True)
class Options:
    """A frozen dataclass whose annotated fields are options.

    A class variable is an option that is checked and not kept. A field whose type is an Options is
    read from the same object.

    Attributes:
        required: Names without which the object is refused.
        known: Further names that may be sent, with any value.
        called: What errors call the object, if options that are not read are refused.
        passed_over: Such options that have no effect here and are not refused.
    """

    required: ClassVar[Sequence[str]] = ()
    known: ClassVar[Collection[str]] = ()
    called: ClassVar[str] = ""
    passed_over: ClassVar[Collection[str]] = ()

    def completed(self, fields: Fields) -> Self:
        """Return the value with what follows from several options.

        Raises:
            Invalid: The options do not fit together.
        """
        return self


@dataclass(frozen=True, slots=True)
class Option:
    """How an option is read, and what is published about it.

    Attributes:
        read: Returns the value of the option with a name, or None if it is not given, or raises
            Invalid. It also takes the values of the fields above, by attribute.
        schema: None if only `beside` is published.
        name: The name in the request; by default that of the field.
        values: Maps words to values, if they differ.
        beside: The schemas of further names that it reads.
    """

    read: Callable[[Fields, str, Before], Any]
    schema: JsonSchema | None
    name: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    beside: Mapping[str, JsonSchema] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Declared:
    """An option of a field, with its default and what is published besides the schema."""

    attribute: str
    option: Option
    default: Any = MISSING
    description: str = ""

    @property
    def name(self) -> str:
        return self.option.name or self.attribute

    @property
    def schemas(self) -> Mapping[str, JsonSchema]:
        """Return the schema of each name; 0 and an empty text are no published default."""
        if self.option.schema is None:
            return self.option.beside
        schema = dict(self.option.schema)
        if isinstance(self.default, bool) or (self.default and isinstance(self.default, str | int)):
            words = (word for word, value in self.option.values.items() if value == self.default)
            schema["default"] = next(words, self.default)
        if self.description:
            schema["description"] = self.description
        return {self.name: schema, **self.option.beside}


# What is declared by the types that were read.
_DECLARED: Final[dict[type, Sequence[_Declared]]] = {}


def read(kind: type[_Options], fields: Fields, **given: Any) -> _Options:
    """Read the options of a type, in the order of its fields.

    Args:
        given: Values of fields that are read already, by attribute.

    Raises:
        Invalid: A value cannot be read or is missing, or does not fit the others.
    """
    values = dict(given)
    declared = [option for option in _declared(kind) if option.attribute not in given]
    for each in declared:
        value = each.option.read(fields, each.name, values)
        values[each.attribute] = each.default if value is None else value
    if kind.called:
        fields.refuse_unread(kind.called, kind.passed_over)
    for each in declared:
        if values[each.attribute] is MISSING:
            raise fields.required(each.name)
    kept = {part.name: values[part.name] for part in fields_of(kind) if part.name in values}
    return kind(**kept).completed(fields)


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


def schemas_of(kind: type[Options]) -> Mapping[str, JsonSchema]:
    """Return the schema of each option of a type, by its name."""
    return {name: schema for each in _declared(kind) for name, schema in each.schemas.items()}


def object_schema(kind: type[Options]) -> JsonSchema:
    schemas = {
        name: _without_null(schema) if name in kind.required else schema
        for name, schema in schemas_of(kind).items()
    }
    return object_of(schemas, kind.known, kind.required)


def _without_null(schema: JsonSchema) -> JsonSchema:
    kinds = schema["type"]
    return {**schema, "type": kinds[0]} if isinstance(kinds, list) and "null" in kinds else schema


def _declared(kind: type[Options]) -> Sequence[_Declared]:
    """Return the options of a type in the order of its fields."""
    if kind not in _DECLARED:
        defaults = {part.name: part.default for part in fields_of(kind)}
        _DECLARED[kind] = [
            _Declared(attribute, option, defaults.get(attribute), *description)
            for attribute, hint in type_hints(kind, include_extras=True).items()
            for option, *description in _annotations(hint)
        ]
    return _DECLARED[kind]


def _annotations(hint: Any) -> Sequence[Any]:
    annotated = get_args(hint)[0] if get_origin(hint) is ClassVar else hint
    if isinstance(annotated, type) and issubclass(annotated, Options):
        return [(part(annotated),)]
    return [get_args(annotated)[1:]] if get_origin(annotated) is Annotated else []


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
    lambda fields, name, _: parse_filter(fields.raw(name), fields.place(name)),
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
OFF: Final = Option(lambda *_: None, OFF_SCHEMA)


def inner(kind: type[Options], name: str = "") -> Option:
    def read_inner(fields: Fields, name: str, _: Before) -> Options | None:
        within = fields.inner(name)
        return None if within is None else read(kind, within)

    return Option(read_inner, {**object_schema(kind), "type": ["object", "null"]}, name)


def items(kind: type[Options], most: int, name: str = "") -> Option:
    def read_items(fields: Fields, name: str, _: Before) -> tuple[Options, ...]:
        return tuple(read(kind, item) for item in fields.items(name, most))

    return Option(read_items, listed(object_schema(kind), maxItems=most), name)


def part(kind: type[Options]) -> Option:
    """Return the options of a type that are sent beside those of the question."""
    return Option(lambda fields, *_: read(kind, fields), None, beside=schemas_of(kind))


def _longest(chars_max: int | None) -> JsonSchema:
    return {} if chars_max is None else {"maxLength": chars_max}
