"""Actions in questions, against a model in plain Python, and against the events that they mean."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.defined_actions import define
from tests.support.examples import examples
from tests.support.histories import Analyst, History, HistoryEvent, histories, history_event

Json = dict[str, Any]
NOW = datetime(2024, 4, 1, tzinfo=UTC)
# Steps, and what they mean.
STEPS: Sequence[tuple[Json, Callable[[HistoryEvent], bool]]] = [
    ({"event": "a"}, lambda event: event.event == "a"),
    (
        {"event": "b", "url": "/DOCS"},
        lambda event: event.event == "b" and "/docs" in _url(event),
    ),
    (
        {"url": "https://x.io/docs", "url_matching": "exact"},
        lambda event: _url(event) == "https://x.io/docs",
    ),
    ({"url": "o/$", "url_matching": "regex"}, lambda event: _url(event).endswith("o/")),
    (
        {"event": "c", "properties": [{"key": "n", "operator": "gt", "value": 2}]},
        lambda event: event.event == "c" and event.properties.get("n") in (2.5, "4"),
    ),
]


def _url(event: HistoryEvent) -> str:
    return str(event.properties.get("$current_url", ""))


@settings(max_examples=examples(30))
@given(histories(), st.lists(st.sampled_from(range(len(STEPS))), min_size=1, max_size=3))
async def test_an_event_counts_once_if_it_matches_any_step(
    analyst: Analyst, history: History, chosen: list[int]
) -> None:
    project = await analyst.store(history)
    action = await define(analyst, project, *(STEPS[n][0] for n in chosen))

    [total, persons] = await analyst.ask(
        project,
        actions=[action, {**action, "math": "dau"}],
        date_from="-20d",
        display="BoldNumber",
    )

    matching = [event for event in history.once if any(STEPS[n][1](event) for n in chosen)]
    assert total["aggregated_value"] == len(matching)
    assert persons["aggregated_value"] == len({history.actor(event) for event in matching})


CONDITION = [{"key": "plan", "operator": "is_set", "value": "is_set", "type": "event"}]
# Questions by the entity that they are about.
QUESTIONS: Mapping[str, Callable[[Json], Json]] = {
    "trends": lambda entity: {
        "events": [{"id": "b"}, entity, {**entity, "math": "first_time_for_user"}],
        "breakdown": "plan",
    },
    "funnels": lambda entity: {
        "insight": "FUNNELS",
        "events": [{"id": "b", "order": 0}, {**entity, "order": 1}, {"id": "c", "order": 2}],
    },
    "exclusions": lambda entity: {
        "insight": "FUNNELS",
        "events": [{"id": "b"}, {"id": "c"}],
        "exclusions": [{**entity, "funnel_from_step": 0, "funnel_to_step": 1}],
    },
    "unordered": lambda entity: {
        "insight": "FUNNELS",
        "events": [{"id": "b"}, entity],
        "funnel_order_type": "unordered",
    },
    "retention": lambda entity: {
        "insight": "RETENTION",
        "target_entity": entity,
        "returning_entity": {"id": "b"},
    },
    "stickiness": lambda entity: {"insight": "STICKINESS", "events": [entity]},
    "lifecycle": lambda entity: {"insight": "LIFECYCLE", "events": [entity]},
}


@pytest.mark.parametrize("kind", QUESTIONS)
@settings(max_examples=examples(6))
@given(histories())
async def test_an_action_of_one_event_is_that_event(
    analyst: Analyst, kind: str, history: History
) -> None:
    project = await analyst.store(history)
    action = await define(analyst, project, {"event": "a", "properties": CONDITION})
    event = {"id": "a", "properties": CONDITION}

    asked = [
        await analyst.ask(project, **QUESTIONS[kind](entity), date_from="-10d")
        for entity in (action, event)
    ]

    assert numbers(asked[0]) == numbers(asked[1])


@pytest.mark.parametrize("kind", ["trends", "funnels", "retention"])
async def test_all_events_begin_with_the_first_of_the_action(analyst: Analyst, kind: str) -> None:
    history = History(happened=[history_event("x", 1, "2024-01-01 10:00"), *CLICKS])
    project = await analyst.store(history)
    action = await define(analyst, project, {"event": "$autocapture"})
    event = {"id": "$autocapture"}

    asked = [
        await analyst.ask(project, **QUESTIONS[kind](entity), date_from="all")
        for entity in (action, event)
    ]

    assert numbers(asked[0]) == numbers(asked[1])


def numbers(answer: Any) -> Any:
    """Return an answer without names, addresses and what was asked."""
    if isinstance(answer, list):
        return [numbers(part) for part in answer]
    if not isinstance(answer, dict):
        return answer
    left_out = ("action", "label", "action_id", "type", "name", "custom_name", "persons_urls")
    return {
        name: numbers(part)
        for name, part in answer.items()
        if name not in left_out and not name.endswith("url")
    }


def clicked(chain: str) -> HistoryEvent:
    event = history_event("$autocapture", 1, "2024-04-01 10:00")
    return replace(event, properties={"$elements_chain": chain})


CLICKS = (
    clicked('button.btn:attr__class="btn"nth-child="1"nth-of-type="1"text="Say \\"Go\\"";'
            'form:nth-child="2"nth-of-type="1"'),
    clicked('a:attr__href="/pay?x=1"href="/pay?x=1"nth-child="1"nth-of-type="1"text="pay";'
            'div.btn:nth-child="2"nth-of-type="1"'),
    clicked('b:attr__data-text="go"nth-child="1"nth-of-type="1"'),
)  # fmt: skip


# Steps with how many of the clicks they mean.
OF_ELEMENTS: Sequence[tuple[Json, int]] = [
    ({"text": 'say "go"'}, 1),
    ({"text": "go"}, 0),
    ({"text": "go", "text_matching": "contains"}, 1),
    ({"text": "^(pay|Say.*)$", "text_matching": "regex"}, 2),
    ({"text": ".", "text_matching": "regex"}, 2),
    ({"href": "/pay?x=1"}, 1),
    ({"href": "/pay", "href_matching": "contains"}, 1),
    ({"href": "^/pay$", "href_matching": "regex"}, 0),
    ({"selector": "form > .btn"}, 1),
    ({"selector": ".btn"}, 2),
    ({"tag_name": "form"}, 1),
    ({"tag_name": "a", "text": "pay"}, 1),
    ({"tag_name": "b"}, 1),
    ({"event": "$autocapture"}, 3),
]


@pytest.mark.parametrize(("step", "expected"), OF_ELEMENTS)
async def test_steps_compare_elements(analyst: Analyst, step: Json, expected: int) -> None:
    project = await analyst.store(_CLICKED)
    action = await define(analyst, project, step)

    [entry] = await analyst.ask(project, events=[action], date_from="-10d")

    assert entry["count"] == expected


_CLICKED = History(happened=CLICKS)
