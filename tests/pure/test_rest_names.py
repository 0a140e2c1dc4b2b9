"""Names that mean nothing, and the nearest that does."""

import pytest

from fanion.errors import Invalid
from fanion.rest.names import NAME_CHARS_MAX, require_known, require_known_query

FEW = {"groups", "payloads"}
MANY = {f"field_{number}" for number in range(50)}


@pytest.mark.parametrize(
    ("name", "known", "told"),
    [
        ("group", FEW, 'Unknown field "group". Did you mean "groups"?'),
        ("xyz", FEW, 'Unknown field "xyz". Allowed are: groups, payloads.'),
        ("Q", MANY, 'Unknown field "Q". The nearest known name is "field_9".'),
    ],
)
def test_an_unknown_name_is_told_with_the_nearest(name: str, known: set[str], told: str) -> None:
    with pytest.raises(Invalid) as refused:
        require_known([*known, name], known, "filters__groups__0")

    assert (refused.value.detail, refused.value.attr) == (told, f"filters__groups__0__{name}")


def test_a_long_name_is_cut_before_it_is_compared() -> None:
    with pytest.raises(Invalid) as refused:
        require_known(["x" * 1_000_000], FEW)

    assert refused.value.attr == "x" * NAME_CHARS_MAX + "…"


def test_some_query_parameters_are_known_everywhere() -> None:
    require_known_query(["token", "api_key", "personal_api_key", "format", "_", "limit"], set())
    require_known_query(["search"], {"search"})

    with pytest.raises(Invalid) as refused:
        require_known_query(["serach"], {"search"})

    assert refused.value.detail == 'Unknown query parameter "serach". Did you mean "search"?'
    assert refused.value.attr == "serach"
