"""Regular expressions are refused when a flag is saved, not when it is evaluated."""

import pytest

from fanion.errors import Invalid
from fanion.flags.definitions.validation.filters import check_filters


def filters(pattern: object, operator: str) -> dict[str, object]:
    leaf = {"key": "email", "type": "person", "operator": operator, "value": pattern}
    return {"groups": [{"properties": [leaf]}]}


@pytest.mark.parametrize("operator", ["regex", "not_regex"])
@pytest.mark.parametrize(
    "pattern", ["(", "[", "*", "a{2,1}", "(?=x)", "(?<!x)y", r"(a)\1", "(?P<n"]
)
def test_an_expression_that_cannot_be_searched_is_refused(pattern: str, operator: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_filters(filters(pattern, operator), creating=True)

    assert (refused.value.code, refused.value.attr) == ("invalid_value", "filters")
    assert refused.value.detail == (
        f"Invalid regular expression: {pattern}. Look-around and back-references are not "
        "supported: expressions follow the RE2 syntax."
    )


@pytest.mark.parametrize("pattern", ["", "^a.*$", r"@corp\.example$", "(?i)ann", "2.3.9{0-9}{1}"])
def test_other_expressions_are_taken(pattern: str) -> None:
    check_filters(filters(pattern, "regex"), creating=True)


def test_only_patterns_are_read_as_patterns() -> None:
    check_filters(filters("(", "icontains"), creating=True)
    check_filters(filters("(", "exact"), creating=True)
