"""Types whose annotated fields say how the fields of an object are read and published."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

import pytest

from fanion.rest.options import (
    Before,
    Option,
    Options,
    inner,
    items,
    names_of,
    object_schema,
    read,
    required_names,
    schemas_of,
    unread,
)

Json = dict[str, Any]


class Problem(Exception):
    """The error of this reader."""


@dataclass(frozen=True)
class Sent:
    """A reader of an object and those in it."""

    values: Mapping[str, Any]

    def required(self, name: str) -> Problem:
        return Problem(f"{name} is required")

    def inner(self, name: str) -> "Sent | None":
        return Sent(self.values[name]) if name in self.values else None

    def items(self, name: str, most: int) -> "list[Sent]":
        return [Sent(value) for value in self.values.get(name, ())[:most]]


def _number(fields: Sent, name: str, before: Before) -> int | None:
    value = fields.values.get(name)
    if value is not None and not isinstance(value, int):
        raise Problem(f"{name} is no number, after {', '.join(before)}")
    return value


NUMBER = Option(_number, {"type": "integer"})


@dataclass(frozen=True, slots=True)
class Size(Options):
    required = ("w",)
    known = ("unit",)

    width: Annotated[int, replace(NUMBER, name="w"), "In metres."]
    height: Annotated[int, NUMBER] = 2
    depth: ClassVar[Annotated[int, NUMBER]]
    area: int = 0

    def completed(self, fields: Sent) -> Self:
        return replace(self, area=self.width * self.height)


@dataclass(frozen=True, slots=True)
class Room(Options):
    size: Size
    secret: ClassVar[Annotated[int, Option(_number, None, "pin")]]
    label: ClassVar[Annotated[str, unread({"type": "string"})]]


@dataclass(frozen=True, slots=True)
class House(Options):
    hall: Annotated[Room | None, inner(Room)] = None
    rooms: Annotated[tuple[Room, ...], items(Room, 2)] = ()


def problem(kind: type[Options], sent: Json) -> str:
    with pytest.raises(Problem) as raised:
        read(kind, Sent(sent))
    return str(raised.value)


def test_options_have_the_names_and_defaults_of_their_fields() -> None:
    assert read(Size, Sent({"w": 3})) == Size(3, 2, area=6)
    assert read(Size, Sent({"w": 3, "height": 5})) == Size(3, 5, area=15)


def test_problems_are_reported_in_the_order_of_the_fields() -> None:
    assert problem(Size, {"height": "high", "w": "wide"}) == "w is no number, after "
    assert problem(Size, {"height": "high", "w": 1}) == "height is no number, after width"


def test_an_option_of_a_class_variable_is_checked_and_not_kept() -> None:
    assert problem(Size, {"w": 1, "depth": "deep"}) == "depth is no number, after width, height"


def test_an_option_without_a_default_is_required_once_all_could_be_read() -> None:
    assert problem(Size, {}) == "w is required"
    assert problem(Size, {"height": "high"}) == "height is no number, after width"


def test_values_that_are_read_already_are_not_read_again() -> None:
    assert read(Size, Sent({"w": "wide"}), width=4) == Size(4, 2, area=8)


def test_a_type_within_a_type_is_read_from_the_same_object() -> None:
    assert read(Room, Sent({"w": 3})) == Room(Size(3, 2, area=6))
    assert problem(Room, {"w": 3, "pin": "x"}) == "pin is no number, after size"


def test_objects_within_an_object_are_read_by_readers_of_their_own() -> None:
    house = read(House, Sent({"hall": {"w": 1}, "rooms": [{"w": 2}, {"w": 3}, {"w": 4}]}))

    assert house == House(Room(Size(1, area=2)), (Room(Size(2, area=4)), Room(Size(3, area=6))))
    assert read(House, Sent({})) == House()


def test_the_schema_has_the_names_defaults_and_descriptions_of_the_fields() -> None:
    size: Json = {
        "w": {"type": "integer", "description": "In metres."},
        "height": {"type": "integer", "default": 2},
        "depth": {"type": "integer"},
    }

    assert schemas_of(Size) == size
    assert object_schema(Size) == {
        "type": "object",
        "propertyNames": {"type": "string", "enum": ["depth", "height", "unit", "w"]},
        "properties": size,
        "required": ["w"],
    }
    assert schemas_of(Room) == {**size, "label": {"type": "string"}}


def test_the_required_names_are_those_of_fields_without_a_default() -> None:
    assert required_names(Size) == ["w"]


def test_names_that_may_be_sent_include_those_that_are_not_published() -> None:
    assert names_of(Size) == {"w", "height", "depth", "unit"}
    assert names_of(Room) == {"w", "height", "depth", "pin", "label"}
