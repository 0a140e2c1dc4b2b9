"""Values of a request, which are read into a struct or refused as clients expect."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.errors import Invalid
from fanion.rest.validation import read_struct


class Inner(Struct, kw_only=True):
    at: int


class Everything(Struct, kw_only=True):
    text: Annotated[str, Meta(min_length=1, max_length=5)] | UnsetType = UNSET
    note: str | None = None
    yes: bool | UnsetType = UNSET
    maybe: bool | None = None
    whole: int | UnsetType = UNSET
    share: Annotated[float, Meta(ge=0, le=100)] | UnsetType = UNSET
    time: datetime | None = None
    id: UUID | None = None
    names: list[str] | UnsetType = UNSET
    any: Any = None
    map: dict[str, Any] | None = None
    inner: Inner | UnsetType = UNSET
    inners: list[Inner] | UnsetType = UNSET
    kind: Literal["a", "b"] | UnsetType = UNSET


INTEGER = ("invalid_input", "A valid integer is required.")
NUMBER = ("invalid_input", "A valid number is required.")
NO_BOOLEANS: tuple[object, ...] = ("", "maybe", 2, [], {}, "null")
NO_INTEGERS: tuple[object, ...] = ("", "x", True, 1.5, [], {}, "1e3", 2**63)
NO_NUMBERS: tuple[object, ...] = ("", "x", True, [], "nan", "inf", 10**400)
NO_UUIDS: tuple[object, ...] = ("", "x", 5, [])
BOOLEAN = ("invalid_input", "Must be a valid boolean.")
STRING = ("invalid_input", "Not a valid string.")
IDENTIFIER = ("invalid_input", "Must be a valid UUID.")
NULL = ("null", "This field may not be null.")
TIME = (
    "invalid_input",
    "Datetime has wrong format. Use one of these formats instead: "
    "YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z].",
)


@pytest.mark.parametrize(
    ("field", "sent", "read"),
    [
        ("text", " x ", "x"),
        ("text", 12, "12"),
        ("note", "", ""),
        ("note", None, None),
        *(("yes", sent, True) for sent in (True, 1, 1.0, "1", "true", "TRUE", "Yes", "on", "t")),
        *(("yes", sent, False) for sent in (False, 0, "0", "False", "n", "OFF")),
        ("maybe", None, None),
        ("whole", "5", 5),
        ("whole", " -5 ", -5),
        ("whole", 5.0, 5),
        ("whole", "5.00", 5),
        ("whole", 2**63 - 1, 2**63 - 1),
        ("share", "12.5", 12.5),
        ("share", 100, 100.0),
        ("time", "2024-03-01T12:00:00Z", datetime(2024, 3, 1, 12, tzinfo=UTC)),
        ("time", "2024-03-01 12:00:00.5+02:00", datetime(2024, 3, 1, 10, 0, 0, 500000, UTC)),
        ("time", "2024-03-01T12:00", datetime(2024, 3, 1, 12, tzinfo=UTC)),
        ("time", "2024-03-01", datetime(2024, 3, 1, tzinfo=UTC)),
        ("id", "0" * 32, UUID(int=0)),
        ("names", ["a", 1], ["a", "1"]),
        ("any", [None, {"a": 1}], [None, {"a": 1}]),
        ("map", {"a": "\0"}, {"a": "\0"}),
        ("inner", {"at": "1", "more": 2}, Inner(at=1)),
        ("inners", [{"at": 1}], [Inner(at=1)]),
        ("kind", "a", "a"),
    ],
)
def test_a_value_is_read_as_its_fields_kind(field: str, sent: object, read: object) -> None:
    struct = read_struct(Everything, {field: sent, "unknown": 1})

    value = getattr(struct, field)
    assert (value, type(value)) == (read, type(read))


@pytest.mark.parametrize(
    ("field", "sent", "problem"),
    [
        ("text", None, NULL),
        ("text", "  ", ("blank", "This field may not be blank.")),
        ("text", "x" * 6, ("max_length", "Ensure this field has no more than 5 characters.")),
        ("text", True, STRING),
        ("text", {}, STRING),
        ("note", [], STRING),
        ("note", "\0", ("null_characters_not_allowed", "Null characters are not allowed.")),
        *(("yes", sent, BOOLEAN) for sent in NO_BOOLEANS),
        ("yes", None, NULL),
        *(("whole", sent, INTEGER) for sent in NO_INTEGERS),
        ("whole", "9" * 5000, INTEGER),
        ("whole", None, NULL),
        *(("share", sent, NUMBER) for sent in NO_NUMBERS),
        ("share", -1, ("min_value", "Ensure this value is greater than or equal to 0.")),
        ("share", 100.5, ("max_value", "Ensure this value is less than or equal to 100.")),
        *(("time", sent, TIME) for sent in ("", "yesterday", 5, "0001-01-01T00:00+23:59")),
        *(("id", sent, IDENTIFIER) for sent in NO_UUIDS),
        ("names", None, NULL),
        ("names", "a", ("not_a_list", 'Expected a list of items but got type "str".')),
        ("names", {}, ("not_a_list", 'Expected a list of items but got type "dict".')),
        ("map", [], ("not_a_dict", 'Expected a dictionary of items but got type "list".')),
        ("map", "{}", ("not_a_dict", 'Expected a dictionary of items but got type "str".')),
        (
            "inner",
            5,
            ("invalid_input", "Invalid data. Expected a dictionary, but got int."),
        ),
        ("kind", "c", ("invalid_choice", '"c" is not a valid choice. Allowed are: a, b.')),
        ("inner", None, NULL),
        ("inner", [], ("invalid_input", "Invalid data. Expected a dictionary, but got list.")),
        ("kind", ["a"], ("invalid_choice", "\"['a']\" is not a valid choice. Allowed are: a, b.")),
    ],
)
def test_a_wrong_value_is_refused_with_its_fields_name(
    field: str, sent: object, problem: tuple[str, str]
) -> None:
    with pytest.raises(Invalid) as refusal:
        read_struct(Everything, {field: sent})

    reported = refusal.value
    assert ((reported.code, reported.detail), reported.attr) == (problem, field)


def test_what_is_not_sent_keeps_its_default() -> None:
    assert read_struct(Everything, {}) == Everything()


@pytest.mark.parametrize(
    ("sent", "attr"),
    [
        ({"inner": {}}, "inner__at"),
        ({"inners": [{"at": 1}, {"at": "x"}]}, "inners__1__at"),
        ({"names": ["a", None]}, "names__1"),
    ],
)
def test_nested_names_are_joined(sent: dict[str, Any], attr: str) -> None:
    with pytest.raises(Invalid) as refusal:
        read_struct(Everything, sent)

    assert refusal.value.attr == attr


@pytest.mark.parametrize(
    ("field", "texts", "read"),
    [
        ("text", ["first", "last"], "last"),
        ("yes", ["False"], False),
        ("names", ["a", "b"], ["a", "b"]),
        ("names", ["a"], ["a"]),
        ("names", ['["a", "b"]'], ["a", "b"]),
        ("names", ["[]"], []),
        ("map", ['{"a": 1}'], {"a": 1}),
        ("any", ["plain text"], "plain text"),
        ("inner", ['{"at": 1}'], Inner(at=1)),
    ],
)
def test_texts_of_a_form_are_read_by_the_fields_kind(
    field: str, texts: list[str], read: object
) -> None:
    struct = read_struct(Everything, {field: texts}, form=True)

    assert getattr(struct, field) == read


def test_a_struct_that_cannot_be_read_is_noticed_before_any_request() -> None:
    class Odd(Struct):
        either: int | str

    with pytest.raises(TypeError, match="must have one type"):
        read_struct(Odd, {})
