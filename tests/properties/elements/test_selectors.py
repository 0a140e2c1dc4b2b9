"""Selectors as patterns over chains of elements, which the ingestion writes."""

import pytest

from fanion.ingest.items import elements_chain
from fanion.properties.elements.selectors import SelectorError, selector_pattern, tag_pattern
from fanion.properties.values import compile_pattern

CHAIN = elements_chain(
    [
        {"tag_name": "span", "$el_text": 'Say "a;b.c:d"', "nth_child": 2, "nth_of_type": 1},
        {
            "tag_name": "a",
            "attr__class": "big btn md:flex",
            "attr__href": "/x;y",
            "attr__id": "go",
            "attr__data-attr": "sign up",
            "nth_child": 1,
            "nth_of_type": 1,
        },
        {"tag_name": "nav", "attr__class": "top", "nth_child": 3, "nth_of_type": 1},
        {"tag_name": "body", "nth_child": 1, "nth_of_type": 1},
    ]
)


def matches(pattern: str) -> bool:
    found = compile_pattern(pattern)
    assert found is not None
    return found(CHAIN)


@pytest.mark.parametrize(
    "selector",
    [
        *("span", "a", "*", ".btn", "a.btn", "a.btn.big", ".big.btn", "#go", "a#go.big"),
        *("[href]", '[href="/x;y"]', "a[data-attr='sign up']", "a#go[href][data-attr]"),
        *("span:nth-child(2)", "nav:nth-of-type(1)", "a > span", "nav span", "nav>a>span"),
        *("body span", "body nav a", " nav  .btn ", "body > nav.top > a.btn span"),
    ],
)
def test_a_selector_finds_an_element(selector: str) -> None:
    assert matches(selector_pattern(selector))


@pytest.mark.parametrize(
    "selector",
    [
        *("b", "ody", "spa", "div", ".bt", ".tn", "a.top", "#g", "#x", "[title]", "[ref]"),
        *('[href="/x"]', "a[data-attr=sign]", "span:nth-child(1)", "nav > span", "span a"),
        *("a > nav", "body > a", "span.btn", "nav#go", "a a", ".btn .btn", "c"),
    ],
)
def test_a_selector_of_another_element_finds_none(selector: str) -> None:
    assert not matches(selector_pattern(selector))


@pytest.mark.parametrize(
    "selector",
    [
        *("", "a,b", "a + b", "a ~ b", "a:hover", "a:not(.b)", "[href^='/']", "a >", "> a"),
        *("a..b", "a[", "#", "a::before", "a:nth-child(2n)", "a\n>>b", " ".join(["a"] * 21)),
    ],
)
def test_a_selector_that_cannot_be_compared_is_refused(selector: str) -> None:
    with pytest.raises(SelectorError):
        selector_pattern(selector)


def test_tags_are_compared_as_a_whole() -> None:
    assert matches(tag_pattern("nav"))
    assert not matches(tag_pattern("na"))
    with pytest.raises(SelectorError):
        tag_pattern("a.btn")
