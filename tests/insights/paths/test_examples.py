"""The worked example of paths, their rules one by one, and the actors behind an edge."""

from dataclasses import replace
from typing import Any

import pytest

from fanion.errors import Invalid
from tests.support.asked_actors import actors
from tests.support.histories import PERSONS, Analyst, History, HistoryEvent, history_event

ANN, BOB, CID = PERSONS[:3]
ASKED: dict[str, Any] = {"insight": "PATHS", "date_from": "2024-03-01", "date_to": "2024-03-01"}


def page(who: int, time: str, url: str) -> HistoryEvent:
    properties: dict[str, Any] = {"$current_url": url}
    return history_event("$pageview", who, f"2024-03-01 {time}", **properties)


def walked(who: int, *names: str) -> list[HistoryEvent]:
    """Return a walk with one minute for each step."""
    return [
        history_event(name, who, f"2024-03-01 10:{minute:02}") for minute, name in enumerate(names)
    ]


EXAMPLE = History(
    "UTC",
    [
        page(1, "10:00", "/"),
        page(1, "10:02", "/docs"),
        page(1, "10:03", "/pricing"),
        page(1, "10:43", "/"),
        page(1, "10:44", "/docs"),
        page(2, "10:00", "/"),
        page(2, "10:05", "/docs/"),
    ],
)


def edges(answer: dict[str, Any]) -> list[tuple[str, str, int]]:
    return [(edge["source"], edge["target"], edge["value"]) for edge in answer["results"]]


async def test_edges_of_the_example_are_counted_over_paths(analyst: Analyst) -> None:
    answer = await analyst.answer(EXAMPLE, **ASKED, include_event_types=["$pageview"])

    assert answer == {
        "results": [
            {
                "source": "1_/",
                "target": "2_/docs",
                "value": 3,
                "average_conversion_time": 160000.0,
            },
            {
                "source": "2_/docs",
                "target": "3_/pricing",
                "value": 1,
                "average_conversion_time": 60000.0,
            },
        ],
        "nodes": [
            {"name": "1_/", "count": 3, "ended": 0},
            {"name": "2_/docs", "count": 3, "ended": 2},
            {"name": "3_/pricing", "count": 1, "ended": 1},
        ],
        "other_edges": [],
    }


async def test_what_is_not_shown_is_one_edge_of_each_step(analyst: Analyst) -> None:
    history = History(
        "UTC", [*walked(1, "a", "b"), *walked(2, "a", "b"), *walked(3, "a", "c"), *walked(4, "a")]
    )

    answer = await analyst.answer(history, **ASKED, edge_limit=1)

    assert edges(answer) == [("1_a", "2_b", 2)]
    assert answer["nodes"] == [
        {"name": "1_a", "count": 4, "ended": 1},
        {"name": "2_b", "count": 2, "ended": 2},
    ]
    assert answer["other_edges"] == [{"source": "1_a", "target": "2_…other", "value": 1}]


async def test_a_path_ends_where_thirty_minutes_lie_between(analyst: Analyst) -> None:
    history = History(
        "UTC",
        [
            history_event("a", 1, "2024-03-01 10:00"),
            history_event("b", 1, "2024-03-01 10:30"),
            history_event("c", 1, "2024-03-01 10:59:59.999999"),
        ],
    )

    assert edges(await analyst.answer(history, **ASKED)) == [("1_b", "2_c", 1)]


async def test_names_are_those_of_pages_screens_and_events(analyst: Analyst) -> None:
    home_screen: dict[str, Any] = {"$screen_name": "Home/"}
    history = History(
        "UTC",
        [
            page(1, "10:00", "https://x.io/docs/"),
            history_event("$screen", 1, "2024-03-01 10:01", **home_screen),
            history_event("$autocapture", 1, "2024-03-01 10:02"),
            history_event("bought", 1, "2024-03-01 10:03"),
        ],
    )
    project = await analyst.store(history)

    async def names(**options: Any) -> list[str]:
        answer = await analyst.ask(project, **ASKED, **options)
        return [node["name"] for node in answer["nodes"]]

    assert await names() == ["1_https://x.io/docs", "2_Home/", "3_$autocapture", "4_bought"]
    assert await names(include_event_types=["$pageview", "$screen"]) == [
        "1_https://x.io/docs",
        "2_Home/",
    ]
    assert await names(include_event_types=["$screen", "custom_event"]) == ["1_Home/", "2_bought"]
    assert await names(
        include_event_types=["$pageview"], include_custom_events=["$autocapture"]
    ) == ["1_https://x.io/docs", "2_$autocapture"]
    assert await names(exclude_events=["Home/", "$autocapture"]) == [
        "1_https://x.io/docs",
        "2_bought",
    ]
    assert await names(exclude_events=["$pageview"]) == ["1_Home/", "2_$autocapture", "3_bought"]


async def test_the_last_of_equal_names_gives_the_time(analyst: Analyst) -> None:
    answer = await analyst.answer(History("UTC", walked(1, "a", "a", "a", "b", "b", "a")), **ASKED)

    assert [
        (result["target"], result["average_conversion_time"]) for result in answer["results"]
    ] == [
        ("2_b", 120000.0),
        ("3_a", 60000.0),
    ]


POINTS: list[tuple[dict[str, Any], list[tuple[str, str, int]]]] = [
    ({"start_point": "b"}, [("1_b", "2_c", 1), ("2_c", "3_b", 1), ("3_b", "4_d", 1)]),
    ({"start_point": "b/"}, [("1_b", "2_c", 1), ("2_c", "3_b", 1), ("3_b", "4_d", 1)]),
    ({"end_point": "c"}, [("1_a", "2_b", 1), ("2_b", "3_c", 1)]),
    ({"end_point": "d", "step_limit": 2}, [("1_b", "2_d", 1)]),
    ({"start_point": "a", "end_point": "c"}, [("1_a", "2_b", 1), ("2_b", "3_c", 1)]),
    ({"start_point": "b", "end_point": "b"}, [("1_b", "2_c", 1), ("2_c", "3_b", 1)]),
    (
        {"start_point": "a", "end_point": "d", "step_limit": 3},
        [("1_a", "2_...", 1), ("2_...", "3_d", 1)],
    ),
    ({"start_point": "x"}, []),
    ({"start_point": "a", "end_point": "x"}, []),
    ({"step_limit": 2}, [("1_a", "2_b", 1)]),
    ({"step_limit": 1}, []),
]


@pytest.mark.parametrize(("options", "expected"), POINTS)
async def test_a_path_is_cut_to_its_start_its_end_and_its_steps(
    analyst: Analyst, options: dict[str, Any], expected: list[tuple[str, str, int]]
) -> None:
    history = History("UTC", walked(1, "a", "b", "c", "b", "d"))

    answer = await analyst.answer(history, **ASKED, **options)

    assert sorted(edges(answer)) == sorted(expected)


async def test_names_are_cleaned_one_filter_after_the_other(analyst: Analyst) -> None:
    history = History("UTC", [page(1, "10:00", "/user/12/"), page(1, "10:01", "/user/12/x")])
    project = replace(
        await analyst.store(history),
        path_cleaning_filters=({"regex": r"/(\d+)", "alias": r"/<\1>"},),
    )
    own = [{"regex": "<.*>", "alias": "<id>"}, {"regex": "user", "alias": r"\0s"}]

    both = await analyst.ask(
        project, **ASKED, path_replacements=True, local_path_cleaning_filters=own
    )
    local = await analyst.ask(project, **ASKED, local_path_cleaning_filters=own)

    assert edges(both) == [("1_/users/<id>", "2_/users/<id>/x", 1)]
    assert edges(local) == [("1_/users/12", "2_/users/12/x", 1)]


async def test_an_alias_cannot_make_names_grow_without_end(analyst: Analyst) -> None:
    history = History("UTC", [page(1, "10:00", "/ä"), page(1, "10:01", "/")])
    doubling = [{"regex": "^.*$", "alias": r"\0\0"}] * 50

    answer = await analyst.answer(history, **ASKED, local_path_cleaning_filters=doubling)

    assert max(len(node["name"]) for node in answer["nodes"]) == 2_002


async def test_the_first_grouping_that_matches_gives_the_name(analyst: Analyst) -> None:
    history = History(
        "UTC",
        [
            page(1, "10:00", "https://x.io/product/1"),
            page(1, "10:01", "https://x.io/product/2"),
            page(1, "10:02", "https://x.io/100%_sure"),
            page(1, "10:03", "https://x.io/100xxsure"),
        ],
    )

    answer = await analyst.answer(
        history, **ASKED, path_groupings=["/product/*", "x.io/p*2", "100%_s"]
    )

    assert edges(answer) == [
        ("1_/product/*", "2_100%_s", 1),
        ("2_100%_s", "3_https://x.io/100xxsure", 1),
    ]


async def test_edges_are_kept_by_their_weight(analyst: Analyst) -> None:
    history = History(
        "UTC",
        [
            *walked(1, "a", "b", "c"),
            *walked(2, "a", "b"),
            *walked(3, "a", "b"),
            *walked(4, "a", "c"),
        ],
    )
    project = await analyst.store(history)

    small = await analyst.ask(project, **ASKED, max_edge_weight=1)
    large = await analyst.ask(project, **ASKED, min_edge_weight=2)

    # Nothing that is shown leads to the second step of `b`.
    assert edges(small) == [("1_a", "2_c", 1)]
    assert edges(large) == [("1_a", "2_b", 3)]


async def test_edges_are_ordered_by_paths_then_by_name(analyst: Analyst) -> None:
    history = History("UTC", [*walked(1, "b", "a"), *walked(2, "a", "c"), *walked(3, "a", "b")])

    answer = await analyst.answer(history, **ASKED)

    assert edges(answer) == [("1_a", "2_b", 1), ("1_a", "2_c", 1), ("1_b", "2_a", 1)]


async def test_an_event_that_is_stored_twice_is_one_step(analyst: Analyst) -> None:
    steps = walked(1, "a", "b", "a")

    answer = await analyst.answer(History("UTC", [*steps, *steps]), **ASKED)

    assert edges(answer) == [("1_a", "2_b", 1), ("2_b", "3_a", 1)]


async def test_people_of_an_edge_and_of_an_end_are_found(analyst: Analyst) -> None:
    project = await analyst.store(EXAMPLE)
    question = ASKED | {"include_event_types": ["$pageview"]}

    both = {"path_start_key": "1_/", "path_end_key": "2_/docs"}
    assert await actors(analyst, project, **question | both) == [(ANN, 2), (BOB, 1)]
    assert await actors(analyst, project, **question, path_start_key="2_/docs") == [(ANN, 1)]
    assert await actors(analyst, project, **question, path_end_key="3_/pricing") == [(ANN, 1)]
    assert await actors(analyst, project, **question, path_dropoff_key="2_/docs") == [
        (ANN, 1),
        (BOB, 1),
    ]


async def test_people_of_what_is_not_shown_are_found(analyst: Analyst) -> None:
    history = History(
        "UTC", [*walked(1, "a", "b"), *walked(2, "a", "b"), *walked(3, "a", "c"), *walked(4, "a")]
    )
    project = await analyst.store(history)

    result = await actors(
        analyst, project, **ASKED, edge_limit=1, path_start_key="1_a", path_end_key="2_…other"
    )

    assert result == [(CID, 1)]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "path_start_key"),
    ({"path_start_key": "/"}, "path_start_key"),
    ({"path_start_key": "0_/"}, "path_start_key"),
    ({"path_dropoff_key": "9_/"}, "path_dropoff_key"),
    ({"path_start_key": "1_/", "path_end_key": "3_/"}, "path_end_key"),
    ({"path_end_key": "2_…other"}, "path_start_key"),
]


@pytest.mark.parametrize(("place", "attr"), REFUSED)
async def test_a_place_that_the_answer_does_not_have_is_refused(
    analyst: Analyst, place: dict[str, Any], attr: str
) -> None:
    project = await analyst.store(EXAMPLE)

    with pytest.raises(Invalid) as caught:
        await actors(analyst, project, **ASKED, **place)

    assert caught.value.attr == attr
