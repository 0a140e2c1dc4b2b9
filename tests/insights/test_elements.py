"""Conditions on clicked elements in questions: by hand, and against a model in plain Python."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanion.errors import Invalid
from fanion.ingest.items import elements_chain
from fanion.insights.kinds.validation import check_query
from tests.support.asked_actors import actors
from tests.support.examples import examples
from tests.support.histories import Analyst, History, HistoryEvent, history_event

Json = dict[str, Any]
Element = Mapping[str, Any]


def clicked(who: int, *elements: Json) -> HistoryEvent:
    """Return a click on the first of the elements, which lies in the next one."""
    event = history_event("$autocapture", who, "2024-04-01 10:00")
    chain = elements_chain(list(elements))
    return replace(event, properties={"$elements_chain": chain} if elements else {})


PAY = {"tag_name": "button", "$el_text": 'Pay "now"', "attr__class": "btn big"}
FORM = {"tag_name": "form", "attr__class": "checkout"}
LINK = {"tag_name": "a", "$el_text": "Docs", "attr__href": "/docs?x=1"}
CLICKS = History(
    happened=(clicked(1, PAY, FORM), clicked(2, LINK, {"tag_name": "nav"}), clicked(3))
)


@pytest.mark.parametrize(
    ("key", "operator", "value", "people"),
    [
        ("text", "exact", 'PAY "now"', {1}),
        ("text", "exact", ["docs", 'pay "now"'], {1, 2}),
        ("text", "is_not", "docs", {1, 3}),
        ("text", "icontains", "pay", {1}),
        ("text", "not_icontains", "a", {2, 3}),
        ("text", "starts_with", "do", {2}),
        ("text", "regex", "^P", {1}),
        ("text", "not_regex", "^P", {2, 3}),
        ("text", "is_set", None, {1, 2}),
        ("text", "is_not_set", None, {3}),
        ("href", "exact", "/docs?x=1", {2}),
        ("href", "icontains_multi", ["/docs", "/pay"], {2}),
        ("href", "is_not_set", None, {1, 3}),
        ("tag_name", "exact", "form", {1}),
        ("tag_name", "exact", ["form", "nav"], {1, 2}),
        ("tag_name", "is_not", "button", {2, 3}),
        ("selector", "exact", "form.checkout > .btn", {1}),
        ("selector", "exact", ["form .big", "nav > a"], {1, 2}),
        ("selector", "is_not", [".btn", "a"], {3}),
    ],
)
async def test_elements_are_compared_as_by_hand(
    analyst: Analyst, key: str, operator: str, value: Any, people: set[int]
) -> None:
    project = await analyst.store(CLICKS)
    condition = {"type": "element", "key": key, "operator": operator, "value": value}

    [entry] = await analyst.ask(
        project, events=[{"id": "$autocapture"}], properties=[condition], date_from="-10d"
    )
    [without] = await analyst.ask(
        project,
        events=[{"id": "$autocapture", "properties": [{**condition, "negation": True}]}],
        date_from="-10d",
    )

    assert entry["count"] == len(people)
    assert without["count"] == 3 - len(people)


# Conditions, and what they mean of one element.
TESTS: Sequence[tuple[Json, Callable[[Element], bool]]] = [
    ({"key": "text", "value": "go"}, lambda one: _text(one) == "go"),
    ({"key": "text", "operator": "icontains", "value": "o"}, lambda one: "o" in _text(one)),
    ({"key": "text", "operator": "is_set"}, lambda one: bool(_text(one))),
    ({"key": "href", "operator": "ends_with", "value": ";y"}, lambda one: _href(one) == "/x;y"),
    ({"key": "href", "value": ["/", "/x;y"]}, lambda one: bool(_href(one))),
    ({"key": "tag_name", "value": "a"}, lambda one: one["tag_name"] == "a"),
    ({"key": "selector", "value": ".b"}, lambda one: "b" in _classes(one)),
    (
        {"key": "selector", "value": ["a.b.c", "div"]},
        lambda one: one["tag_name"] == "div" or {"b", "c"} <= _classes(one),
    ),
]
NEGATIVE = {None: "is_not", "icontains": "not_icontains", "is_set": "is_not_set"}


def _text(one: Element) -> str:
    return str(one.get("$el_text", "")).lower()


def _href(one: Element) -> str:
    return str(one.get("attr__href", ""))


def _classes(one: Element) -> set[str]:
    return set(str(one.get("attr__class", "")).split()) if one["tag_name"] == "a" else set()


def _elements() -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries(
        {"tag_name": st.sampled_from(("a", "div"))},
        optional={
            "$el_text": st.sampled_from(("Go", 'say "go";b:c', 'no="o"', "")),
            "attr__href": st.sampled_from(("/", "/x;y")),
            "attr__class": st.sampled_from(("b", "b c", "bc", "")),
        },
    ).map(lambda one: one if one["tag_name"] == "a" else {**one, "attr__class": "d"})


@settings(max_examples=examples(30))
@given(st.lists(st.lists(_elements(), max_size=3), max_size=6), st.data())
async def test_random_clicks_are_compared_as_the_model_does(
    analyst: Analyst, clicks: list[list[Json]], data: st.DataObject
) -> None:
    sent, holds = data.draw(st.sampled_from(TESTS))
    is_negative = data.draw(st.booleans()) and sent.get("operator") in NEGATIVE
    condition = {"type": "element", **sent}
    if is_negative:
        condition["operator"] = NEGATIVE[sent.get("operator")]
    numbered = list(enumerate(clicks, 1))
    history = History(happened=[clicked(who, *elements) for who, elements in numbered])
    project = await analyst.store(history)
    question: Json = {"events": [{"id": "$autocapture", "properties": [condition]}]}

    [entry] = await analyst.ask(project, **question, date_from="-10d", display="BoldNumber")
    people = await actors(analyst, project, **question, date_from="-10d", display="BoldNumber")

    expected = [
        event.person
        for (_, elements), event in zip(numbered, history.happened, strict=True)
        if any(map(holds, elements)) is not is_negative
    ]
    assert entry["aggregated_value"] == len(expected)
    assert sorted(who for who, _ in people) == sorted(expected)


@pytest.mark.parametrize(
    ("condition", "attr", "detail"),
    [
        ({"key": "class", "value": "b"}, "key", "Allowed are: href, selector, tag_name, text."),
        ({"key": "text", "operator": "gt", "value": 1}, "operator", 'Unknown operator "gt"'),
        ({"key": "selector", "operator": "regex", "value": "b"}, "operator", '"regex"'),
        ({"key": "selector", "value": "a:hover"}, "value", "It cannot be read at :hover."),
        ({"key": "selector", "value": []}, "value", "Invalid value for operator exact"),
        ({"key": "selector", "value": [3]}, "value", "a text or a list of texts"),
        ({"key": "tag_name", "value": "a b"}, "value", "the name of a tag"),
        (
            {"key": "selector", "value": [" ".join(["a"] * 20 + [f"b{n}"])[2:] for n in range(20)]},
            "value",
            "too long together",
        ),
        ({"key": "text", "operator": "regex", "value": "("}, "value", "regular expression"),
    ],
)
def test_what_cannot_be_compared_is_refused(condition: Json, attr: str, detail: str) -> None:
    series = {"kind": "EventsNode", "event": "a", "properties": [{"type": "element", **condition}]}
    with pytest.raises(Invalid) as raised:
        check_query({"kind": "TrendsQuery", "series": [series]})

    assert raised.value.attr == f"query__series__0__properties__0__{attr}"
    assert detail in str(raised.value.detail)
