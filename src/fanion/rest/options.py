"""The fields of objects that clients send, which are annotated fields of frozen types.

`step_limit: Annotated[int, whole(1, 20), "Steps of a path."] = 5` says which values clients may
send, what is published about them, and what holds without one. Options are read in the order of the
fields, which is the order in which problems are reported. The JSON Schema is made of the same
fields.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from dataclasses import fields as fields_of
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Protocol,
    Self,
    TypeGuard,
    TypeVar,
    get_args,
    get_origin,
)
from typing import get_type_hints as type_hints

from fanion.rest.json_schema import JsonSchema, listed, object_of

Before = Mapping[str, Any]
_Options = TypeVar("_Options", bound="Options")


class Reader(Protocol):
    """The values of one object, with their places in the request."""

    def required(self, name: str) -> Exception:
        """Return the error for an option that is not given."""
        ...


class NestedReader(Reader, Protocol):
    """A reader of objects that contain other objects."""

    def inner(self, name: str) -> "NestedReader | None":
        """Return the reader of the object with this name, None without one."""
        ...

    def items(self, name: str, most: int) -> "Sequence[NestedReader]":
        """Return the reader of each object in the list with this name."""
        ...


@dataclass(frozen=True, slots=True)
class Options:
    """A frozen dataclass whose annotated fields are options.

    A class variable is an option that is checked and not kept. A field whose type is an Options is
    read from the same object.

    Attributes:
        required: Names without which the published schema refuses the object.
        known: Further names that may be sent, with any value.
    """

    required: ClassVar[Sequence[str]] = ()
    known: ClassVar[Collection[str]] = ()

    @classmethod
    def check_unread(cls, fields: Any) -> None:
        """Raise an error for an option that was sent and that no field has read.

        Args:
            fields: The Reader, after all fields were read.
        """

    def completed(self, fields: Any) -> Self:
        """Return the value with what follows from several options.

        Args:
            fields: The Reader, whose error is raised if the options do not fit together.
        """
        return self


@dataclass(frozen=True, slots=True)
class Option:
    """How an option is read, and what is published about it.

    Attributes:
        read: Returns the value of the option with a name from a Reader, or None if it is not given,
            or raises the reader's error. It also takes the values of the fields above, by
            attribute.
        schema: None if only `beside` is published. With a name of its own the option may still be
            sent.
        name: The name in the request; by default that of the field.
        values: Maps words to values, if they differ.
        beside: The schemas of further names that it reads.
    """

    read: Callable[[Any, str, Before], Any]
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


def read(kind: type[_Options], fields: Reader, **given: Any) -> _Options:
    """Read the options of a type, in the order of its fields.

    Args:
        given: Values of fields that are read already, by attribute.

    Raises:
        Exception: A value cannot be read or is missing, or does not fit the others. The reader
            decides which error it is.
    """
    values = dict(given)
    declared = [option for option in _declared(kind) if option.attribute not in given]
    for each in declared:
        value = each.option.read(fields, each.name, values)
        values[each.attribute] = each.default if value is None else value
    kind.check_unread(fields)
    for each in declared:
        if values[each.attribute] is MISSING:
            raise fields.required(each.name)
    kept = {part.name: values[part.name] for part in fields_of(kind) if part.name in values}
    return kind(**kept).completed(fields)


def schemas_of(kind: type[Options]) -> Mapping[str, JsonSchema]:
    """Return the schema of each option of a type, by its name."""
    return {name: schema for each in _declared(kind) for name, schema in each.schemas.items()}


def names_of(kind: type[Options]) -> frozenset[str]:
    """Return all names that may be sent, published or not."""
    named = (each.option.name for each in _declared(kind) if each.option.name)
    return frozenset(kind.known).union(schemas_of(kind), named)


def sent_names(kind: type) -> Mapping[str, str]:
    """Return the names by which clients send the options of a type, by attribute."""
    return {each.attribute: each.name for each in _declared(kind)} if is_options(kind) else {}


def is_options(kind: type) -> TypeGuard[type[Options]]:
    return issubclass(kind, Options)


def required_names(kind: type[Options]) -> Sequence[str]:
    """Return the names of the options of a type that have no default."""
    return [name for each in _declared(kind) if each.default is MISSING for name in each.schemas]


def object_schema(kind: type[Options]) -> JsonSchema:
    schemas = {
        name: _without_null(schema) if name in kind.required else schema
        for name, schema in schemas_of(kind).items()
    }
    return object_of(schemas, kind.known, kind.required)


def _without_null(schema: JsonSchema) -> JsonSchema:
    kinds = schema.get("type")
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


def unread(schema: JsonSchema) -> Option:
    """Return an option that is only published: reading the type accepts any value."""
    return Option(lambda *_: None, schema)


def part(kind: type[Options]) -> Option:
    """Return the options of a type that are sent beside those of the outer type."""
    return Option(lambda fields, *_: read(kind, fields), None, beside=schemas_of(kind))


def inner(kind: type[Options], name: str = "") -> Option:
    """Return the option of an object, read by a NestedReader."""

    def read_inner(fields: NestedReader, name: str, _: Before) -> Options | None:
        within = fields.inner(name)
        return None if within is None else read(kind, within)

    return Option(read_inner, {**object_schema(kind), "type": ["object", "null"]}, name)


def items(kind: type[Options], most: int, name: str = "") -> Option:
    """Return the option of a list of objects, read by a NestedReader."""

    def read_items(fields: NestedReader, name: str, _: Before) -> tuple[Options, ...]:
        return tuple(read(kind, item) for item in fields.items(name, most))

    return Option(read_items, listed(object_schema(kind), maxItems=most), name)
