"""Unknown names, and the suggestion of the nearest known one."""

from typing import Any

import pytest

from fanion.errors import Invalid
from fanion.rest.unknown_fields import (
    COMPARED_MAX,
    NAME_CHARS_MAX,
    require_known,
    require_known_query,
    require_only,
    require_supported,
    suggestion,
)

FEW = {"groups", "payloads"}
MANY = {f"field_{number}" for number in range(50)}


@pytest.mark.parametrize(
    ("name", "known", "reported"),
    [
        ("group", FEW, 'Unknown field "group". Did you mean "groups"?'),
        ("xyz", FEW, 'Unknown field "xyz". Allowed are: groups, payloads.'),
        ("Q", MANY, 'Unknown field "Q". No known name is similar.'),
    ],
)
def test_an_unknown_name_is_reported_with_the_nearest(
    name: str, known: set[str], reported: str
) -> None:
    with pytest.raises(Invalid) as refused:
        require_known([*known, name], known, "filters__groups__0")

    assert (refused.value.detail, refused.value.attr) == (reported, f"filters__groups__0__{name}")


@pytest.mark.parametrize(
    ("word", "known", "nearest"),
    [
        ("valeu", {"value", "valid"}, "value"),
        ("isStatic", {"is_static", "name"}, "is_static"),
        ("rollout", {"rollout_percentage", "variant"}, "rollout_percentage"),
        ("index", {"condition_index", "indices"}, "condition_index"),
        ("dayly", {"day", "hour"}, "day"),
        ("persons", {"person_ids", "ids"}, "person_ids"),
        ("quarter", {"day", "hour", "minute", "month", "week"}, None),
        ("colour", {"value", "key"}, None),
        ("less", {"lt", "lte", "exact"}, None),
        ("22", {"21", "37"}, None),
        ("plan", {"lang"}, None),
        ("", {"a", "abc"}, None),
    ],
)
def test_only_a_name_that_is_near_is_suggested(
    word: str, known: set[str], nearest: str | None
) -> None:
    allowed = f"Allowed are: {', '.join(sorted(known))}."

    assert suggestion(word, known) == (f'Did you mean "{nearest}"?' if nearest else allowed)


def test_a_long_name_is_cut_before_it_is_compared() -> None:
    with pytest.raises(Invalid) as refused:
        require_known(["x" * 1_000_000], FEW)

    assert refused.value.attr == "x" * NAME_CHARS_MAX + "…"


def test_of_many_names_those_with_the_same_first_letter_are_compared() -> None:
    many = {f"{letter}_{number}" for letter in "ab" for number in range(COMPARED_MAX)}

    assert suggestion("a-77", many) == 'Did you mean "a_77"?'
    assert suggestion("zzz", many) == "No known name is similar."


def test_some_query_parameters_are_known_everywhere() -> None:
    require_known_query(asked("token", "api_key", "personal_api_key", "format", "_"), set())
    require_known_query(asked("search"), {"search"})

    for name in ("serach", "limit"):
        with pytest.raises(Invalid) as refused:
            require_known_query(asked(name), {"search"})

        reported = f'Unknown query parameter "{name}". '
        assert refused.value.detail.startswith(reported)
        assert refused.value.attr == name
    assert refused.value.detail == f"{reported}Allowed are: search."


def test_an_answer_is_json_unless_the_operation_takes_another_format() -> None:
    require_known_query([("format", "json")], set())
    require_known_query([("format", "csv")], {"format"})

    with pytest.raises(Invalid) as refused:
        require_known_query([("format", "csv")], {"search"})

    assert refused.value.detail == '"csv" is not a valid choice. Allowed are: json.'


def test_a_body_that_is_not_read_must_be_empty() -> None:
    taken: list[Any] = [None, "", [], {}, {"personal_api_key": "phx_a"}, {"name": 1}]
    for body in taken:
        require_only(body, {"name"})

    wrong: list[Any] = ["x", 5, [1], False]
    for body in wrong:
        with pytest.raises(Invalid, match="Expected a dictionary"):
            require_only(body, set())
    with pytest.raises(Invalid) as refused:
        require_only({"ids": [1]}, set())
    assert refused.value.detail == 'Unknown field "ids". None are allowed here.'


IDLE: list[Any] = [None, False, 0, "", [], {}]
ASKING: list[Any] = [True, 1, "x", [0], {"a": None}]


def test_what_is_not_supported_must_ask_for_nothing() -> None:
    unsupported = {"query": "Ask with filters.", "color": ""}
    for value in IDLE:
        require_supported({"query": value, "name": "x"}, unsupported)

    for value in ASKING:
        with pytest.raises(Invalid) as refused:
            require_supported({"query": value}, unsupported, "filters")
        assert refused.value.detail == '"query" is not supported. Ask with filters.'
        assert refused.value.attr == "filters__query"
    with pytest.raises(Invalid) as refused:
        require_supported({"color": "red"}, unsupported)
    assert (refused.value.detail, refused.value.attr) == ('"color" is not supported.', "color")


def asked(*names: str) -> list[tuple[str, str]]:
    return [(name, "") for name in names]
