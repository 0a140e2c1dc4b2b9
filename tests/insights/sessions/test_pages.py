"""Where views come from, how long pages are shown, and which links lead to other sites."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.insights.sessions.conftest import Ask
from tests.insights.sessions.oracle import Question
from tests.insights.sessions.test_oracle import days
from tests.support.examples import examples
from tests.support.histories import History, HistoryEvent, histories, history_event

DAY = {"date_from": "2023-12-15", "date_to": "2023-12-15"}


def event(name: str, who: int, minute: int, session: str, **more: Any) -> HistoryEvent:
    own: dict[str, Any] = {"$session_id": session, **more}
    return history_event(name, who, f"2023-12-15 10:{minute:02}", **own)


def left(page: str, seconds: Any) -> dict[str, Any]:
    return {"$prev_pageview_pathname": page, "$prev_pageview_duration": seconds}


def shown(path: str) -> dict[str, Any]:
    return {"$pathname": path, "$current_url": f"https://x.io{path}"}


async def test_source_medium_and_campaign_together(web: Ask) -> None:
    link = {"utm_source": "letter", "utm_medium": "email", "utm_campaign": "Spring"}
    happened = [
        event("$pageview", 1, 0, "s1", **link),
        event("$pageview", 2, 0, "s2", **link, **{"$referring_domain": "t.co"}),
        event("$pageview", 3, 0, "s3", **{"$referring_domain": "t.co", "utm_medium": "cpc"}),
        event("$pageview", 4, 0, "s4"),
    ]

    answer = await web(
        History(happened=happened),
        "WebStatsTableQuery",
        breakdownBy="InitialUTMSourceMediumCampaign",
        dateRange=DAY,
        includeBounceRate=True,
    )

    assert answer["results"] == [
        ["letter / email / Spring", [2, None], [2, None], [1.0, None]],
        ["(none) / (none) / (none)", [1, None], [1, None], [1.0, None]],
        ["referrer:t.co / cpc / (none)", [1, None], [1, None], [1.0, None]],
    ]


async def test_the_page_before_is_of_this_site_or_another_address(web: Ask) -> None:
    rules = [{"regex": r"/docs/\d+", "alias": "/docs/:id"}]
    of_site = {"$referrer": "https://x.io/docs/2?a=b"}
    happened = [
        event("$pageview", 1, 0, "s1", **shown("/a"), **left("/docs/1", 5), **of_site),
        event("$pageview", 2, 0, "s2", **shown("/a"), **of_site),
        event("$pageview", 3, 0, "s3", **shown("/a"), **{"$referrer": "https://t.co/docs/3"}),
        event("$pageview", 4, 0, "s4", **shown("/a"), **{"$referrer": "$direct"}),
        event("$pageview", 4, 1, "s4", **shown("/b")),
    ]

    answer = await web(
        History(happened=happened),
        "WebStatsTableQuery",
        breakdownBy="PreviousPage",
        dateRange=DAY,
        doPathCleaning=True,
        cleaning=rules,
    )

    assert [[value, visitors[0], views[0]] for value, visitors, views in answer["results"]] == [
        ["/docs/:id", 2, 2],
        [None, 1, 1],
        ["$direct", 1, 1],
        ["https://t.co/docs/3", 1, 1],
    ]


TIMES = [
    event("$pageview", 1, 0, "s1", **shown("/a")),
    event("$pageview", 1, 1, "s1", **shown("/b"), **left("/a", 10)),
    event("$pageleave", 1, 2, "s1", **shown("/b"), **left("/b", 100_000)),
    event("$pageview", 2, 0, "s2", **shown("/a")),
    event("$pageleave", 2, 1, "s2", **shown("/a"), **left("/a", "20")),
    event("$pageleave", 2, 2, "s2", **shown("/a"), **left("/a", "soon")),
    event("left", 2, 3, "s2", **shown("/a"), **left("/a", 500)),
]


async def test_the_time_on_a_page_is_what_nine_of_ten_stay_below(web: Ask) -> None:
    """The time is 19 for 10 and 20 seconds, and a day at most."""
    answer = await web(
        History(happened=[*TIMES, TIMES[1]]),
        "WebStatsTableQuery",
        breakdownBy="Page",
        dateRange=DAY,
        includeAvgTimeOnPage=True,
        compareFilter={"compare": True},
        orderBy=["AvgTimeOnPage", "ASC"],
    )

    names = ("breakdown_value", "visitors", "views", "avg_time_on_page", "bounce_rate")
    assert answer["columns"] == [f"context.columns.{name}" for name in names]
    assert answer["results"] == [
        ["/a", [2, 0], [2, 0], [pytest.approx(19.0), None], [0.0, None]],
        ["/b", [1, 0], [1, 0], [86_400.0, None], [None, None]],
    ]


async def test_conditions_on_pages_are_those_on_the_page_that_was_left(web: Ask) -> None:
    answer = await web(
        History(happened=TIMES),
        "WebStatsTableQuery",
        breakdownBy="Page",
        dateRange=DAY,
        includeAvgTimeOnPage=True,
        properties=[{"key": "$pathname", "value": "/b", "type": "event"}],
    )

    [row] = answer["results"]
    assert row[:2] == ["/b", [1, None]]
    assert row[3] == [86_400.0, None]


async def test_links_to_other_sites(web: Ask) -> None:
    def click(who: int, url: str, **more: Any) -> HistoryEvent:
        own = {"$event_type": "click", "$host": "www.x.io", "$external_click_url": url, **more}
        return event("$autocapture", who, 0, f"s{who}", **own)

    happened = [
        click(1, "https://t.co/a?b=c"),
        click(2, "https://t.co/a#d"),
        click(2, "https://t.co/a#d"),
        click(3, "https://docs.x.io/"),
        click(3, "https://news.io/", **{"$event_type": "submit"}),
        click(3, ""),
        click(3, "https://news.io/"),
    ]
    asked: dict[str, Any] = {"dateRange": DAY, "limit": 2}

    whole = await web(History(happened=happened), "WebExternalClicksTableQuery", **asked)
    stripped = await web(
        History(happened=happened),
        "WebExternalClicksTableQuery",
        **asked,
        stripQueryParams=True,
        orderBy=["Visitors", "ASC"],
        compareFilter={"compare": True},
    )

    assert whole == {
        "columns": ["context.columns.url", "context.columns.visitors", "context.columns.clicks"],
        "results": [
            ["https://t.co/a#d", [1, None], [2, None]],
            ["https://news.io/", [1, None], [1, None]],
        ],
        "hasMore": True,
        "limit": 2,
        "offset": 0,
    }
    assert stripped["results"] == [
        ["https://news.io/", [1, 0], [1, 0]],
        ["https://t.co/a", [2, 0], [3, 0]],
    ]


PATHS = st.sampled_from(("/", "/a", "/b"))


@st.composite
def browsing(draw: st.DrawFn) -> History:
    """Draw sessions of the last four days with views, ends of views and clicks."""
    history = draw(histories(events_max=14, days=1))
    drawn: dict[Any, HistoryEvent] = {}
    for one in history.once:
        properties = draw(
            st.fixed_dictionaries(
                {"$session_id": st.sampled_from(("s1", "s2", "s3", ""))},
                optional={
                    "$pathname": PATHS,
                    "$current_url": st.sampled_from(("https://x.io/a", "")),
                    "$prev_pageview_pathname": PATHS,
                    "$prev_pageview_duration": st.sampled_from((0, 1.5, 30, "7", "x", 90_000, -1)),
                    "$referrer": st.sampled_from(
                        ("$direct", "https://x.io/b?c", "https://t.co/", "")
                    ),
                    "$event_type": st.sampled_from(("click", "submit")),
                    "$host": st.sampled_from(("x.io", "www.x.io", "y.io")),
                    "$external_click_url": st.sampled_from(("https://a.x.io/", "https://t.co/#a")),
                },
            )
        )
        name = draw(
            st.sampled_from(("$pageview", "$pageview", "$pageleave", "$screen", "$autocapture"))
        )
        at = one.at - timedelta(days=draw(st.integers(0, 3)))
        drawn[one.uuid] = replace(one, event=name, at=at, properties=properties)
    return replace(history, happened=[drawn[one.uuid] for one in history.happened])


@settings(max_examples=examples(12))
@given(browsing())
async def test_pages_of_random_histories(web: Ask, history: History) -> None:
    shared: dict[str, Any] = {"dateRange": {"date_from": "-2d"}, "limit": 100}
    pages = {"breakdownBy": "Page", "includeAvgTimeOnPage": True, **shared}
    before = {"breakdownBy": "PreviousPage", **shared}

    timed = await web(history, "WebStatsTableQuery", **pages)
    previous = await web(history, "WebStatsTableQuery", **before)
    clicks = await web(history, "WebExternalClicksTableQuery", **shared)

    # Tables of events do not group them by session.
    question = Question(days(history), whole_long=False)
    times = times_on_pages(history, question)
    assert {row[0]: row[3][0] for row in timed["results"]} == {
        row[0]: pytest.approx(percentile(times[row[0] or ""])) if row[0] in times else None
        for row in timed["results"]
    }
    assert {row[0]: row[2][0] for row in previous["results"]} == views_by_previous(
        history, question
    )
    assert {row[0]: [row[1][0], row[2][0]] for row in clicks["results"]} == clicked(
        history, question.span
    )


def text(one: HistoryEvent, name: str) -> str:
    return str(one.properties.get(name) or "")


def begun_before(history: History, question: Question) -> set[str]:
    """Return the sessions that have an event on the day before the range."""
    start = question.span[0]
    return {
        text(one, "$session_id")
        for one in history.once
        if start - timedelta(days=1) <= one.at < start
    }


def of_begun(history: History, question: Question, names: Sequence[str]) -> list[HistoryEvent]:
    """Return the events of the range whose session began in it."""
    others = {"", *begun_before(history, question)}
    start, end = question.span
    return [
        one
        for one in history.once
        if one.event in names and start <= one.at < end and text(one, "$session_id") not in others
    ]


def times_on_pages(history: History, question: Question) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {}
    for one in of_begun(history, question, ("$pageview", "$pageleave", "$screen")):
        page, seconds = (
            text(one, "$prev_pageview_pathname"),
            one.properties.get("$prev_pageview_duration"),
        )
        if page and seconds not in (None, "x", -1):
            times.setdefault(page, []).append(min(float(seconds), 86_400))
    return times


def percentile(values: Sequence[float]) -> float:
    """Return the 90th percentile, between the two values around it."""
    ordered, place = sorted(values), 0.9 * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def views_by_previous(history: History, question: Question) -> dict[str | None, int]:
    numbers: dict[str | None, int] = {}
    for one in of_begun(history, question, ("$pageview", "$screen")):
        referrer = text(one, "$referrer")
        site, whence = urlsplit(text(one, "$current_url")), urlsplit(referrer)
        is_own = whence.netloc != "" and site.netloc == whence.netloc
        page = text(one, "$prev_pageview_pathname") or (whence.path if is_own else referrer)
        numbers[page or None] = numbers.get(page or None, 0) + 1
    return numbers


def clicked(history: History, span: tuple[datetime, datetime]) -> dict[str, list[int]]:
    found: dict[str, list[HistoryEvent]] = {}
    for one in history.once:
        url, host = text(one, "$external_click_url"), text(one, "$host")
        is_click = one.event == "$autocapture" and text(one, "$event_type") == "click"
        is_own = url == "https://a.x.io/" and host.endswith("x.io")
        if is_click and url and not is_own and span[0] <= one.at < span[1]:
            found.setdefault(url, []).append(one)
    return {
        url: [len({history.actor(one) for one in events}), len(events)]
        for url, events in found.items()
    }
