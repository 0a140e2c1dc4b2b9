"""Web analytics of random histories, against a model in plain Python."""

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.insights.sessions.conftest import Ask
from tests.insights.sessions.oracle import Question, overview, table
from tests.support.examples import examples
from tests.support.histories import NOW, Analyst, History, HistoryEvent, histories

NAMES = ("$pageview", "$pageview", "$screen", "$autocapture", "paid")
DAYS = {"date_from": "-2d"}
PERSON, SURVIVOR = UUID(int=1), UUID(int=2)


def properties() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"$session_id": st.sampled_from(("s1", "s2", "s3", "s4", ""))},
        optional={
            "$current_url": st.sampled_from(
                ("https://x.io/", "https://x.io/docs/1?a=b", "https://x.io/docs/2#c", "")
            ),
            "$pathname": st.sampled_from(("/", "/docs/1", "/docs/2")),
            "$browser": st.sampled_from(("Chrome", "Firefox")),
            "$referring_domain": st.sampled_from(
                ("$direct", "www.google.co.uk", "t.co", "news.io", "")
            ),
            "utm_source": st.sampled_from(("google", "facebook.com", "letter")),
            "utm_medium": st.sampled_from(("cpc", "paid-x", "email")),
            "utm_campaign": st.sampled_from(("Spring", "my-video", "cross-network")),
            "gclid": st.sampled_from(("abc", "")),
        },
    )


@st.composite
def visits(draw: st.DrawFn) -> History:
    """Draw sessions of the last four days, with events that are seconds or a day apart."""
    history = draw(histories(events_max=16, days=1))
    changed: dict[Any, HistoryEvent] = {}
    for event in history.once:
        ago = timedelta(
            days=draw(st.integers(0, 3)), seconds=draw(st.sampled_from((0, 1, 9, 10, 11)))
        )
        changed[event.uuid] = replace(
            event,
            event=draw(st.sampled_from(NAMES)),
            at=event.at - ago,
            properties=draw(properties()),
        )
    return replace(history, happened=[changed[event.uuid] for event in history.happened])


def days(history: History, *, ago: int = 0) -> tuple[datetime, datetime]:
    """Return the range of today and the two days before, or of so many days earlier."""
    zone = ZoneInfo(history.zone)
    today: date = NOW.astimezone(zone).date() - timedelta(days=ago)
    first, end = today - timedelta(days=2), today + timedelta(days=1)
    start, stop = (datetime.combine(day, time(), zone).astimezone(UTC) for day in (first, end))
    return start, stop


@settings(max_examples=examples(15))
@given(visits(), st.sampled_from((None, "paid", "$pageview")))
async def test_the_overview(web: Ask, history: History, goal: str | None) -> None:
    options = {} if goal is None else {"conversionGoal": {"customEventName": goal}}

    answer = await web(
        history, "WebOverviewQuery", dateRange=DAYS, compareFilter={"compare": True}, **options
    )

    now, before = (Question(days(history, ago=ago), goal) for ago in (0, 2))
    assert [item["value"] for item in answer["results"]] == pytest.approx(overview(history, now))
    assert [item["previous"] for item in answer["results"]] == pytest.approx(
        overview(history, before)
    )


@settings(max_examples=examples(20))
@given(
    visits(),
    st.sampled_from(
        (
            *("Page", "InitialPage", "ExitPage", "Browser", "InitialReferringDomain"),
            *("InitialUTMSource", "InitialUTMMedium", "InitialUTMCampaign", "InitialChannelType"),
            "InitialUTMSourceMediumCampaign",
        )
    ),
)
async def test_tables(web: Ask, history: History, breakdown: str) -> None:
    answer = await web(
        history,
        "WebStatsTableQuery",
        breakdownBy=breakdown,
        dateRange=DAYS,
        includeBounceRate=True,
        compareFilter={"compare": True},
        limit=100,
    )

    now = table(history, Question(days(history)), breakdown)
    before = table(history, Question(days(history, ago=2)), breakdown)
    assert {row[0] for row in answer["results"]} == now.keys() | before.keys()
    for value, *pairs in answer["results"]:
        assert [pair[0] for pair in pairs[:2]] == now.get(value, [0, 0])[:2]
        assert [pair[1] for pair in pairs[:2]] == before.get(value, [0, 0])[:2]
        if value in now:
            assert pairs[2][0] == pytest.approx(now[value][2])
    order = [
        (-row[1][0], -row[1][1], -row[2][0], -row[2][1], row[0] or "") for row in answer["results"]
    ]
    assert order == sorted(order)


@settings(max_examples=examples(12))
@given(visits(), st.sampled_from(("Page", "InitialPage", "InitialChannelType")))
async def test_tables_of_conversions(web: Ask, history: History, breakdown: str) -> None:
    answer = await web(
        history,
        "WebStatsTableQuery",
        breakdownBy=breakdown,
        dateRange=DAYS,
        conversionGoal={"customEventName": "paid"},
        limit=100,
    )

    result = {row[0]: [pair[0] for pair in row[1:]] for row in answer["results"]}
    # Rows of events without the rate of bounces are not grouped by session.
    question = Question(days(history), "paid", whole_long=breakdown != "Page")
    assert result == table(history, question, breakdown)


@settings(max_examples=examples(10))
@given(visits(), st.sampled_from((0, 10, 86_400)))
async def test_the_overview_of_some_sessions(web: Ask, history: History, seconds: int) -> None:
    long = {"type": "session", "key": "$session_duration", "value": seconds, "operator": "gte"}

    answer = await web(history, "WebOverviewQuery", dateRange=DAYS, properties=[long])

    question = Question(days(history), keeps=lambda session: session.seconds >= seconds)
    assert [item["value"] for item in answer["results"]] == pytest.approx(
        overview(history, question)
    )


@settings(max_examples=examples(10))
@given(visits())
async def test_conditions_on_sessions_select_their_events(
    analyst: Analyst, history: History
) -> None:
    bounced = {"type": "session", "key": "$is_bounce", "value": "true"}

    [entry] = await analyst.answer(
        history, events=[{"id": "$pageview"}], properties=[bounced], date_from="-10d"
    )

    # The range holds all events, so that nothing is cut off at its ends.
    question = Question((NOW - timedelta(days=9), NOW + timedelta(days=1)))
    result = [
        one for session, counted in question.of(history) if session.is_bounce for one in counted
    ]
    assert entry["count"] == sum(series.event == "$pageview" for series in result)


@settings(max_examples=examples(10))
@given(visits())
async def test_parts_and_totals(web: Ask, history: History) -> None:
    """The pages of the table add up to the overview, which compares with its earlier answer.

    Views of all pages are the views; visitors of all pages are at least the visitors.
    """
    whole = await web(
        history, "WebOverviewQuery", dateRange=DAYS, compareFilter={"compare_to": "-1d"}
    )
    # Without the rate of bounces, a session that paused for over a day before the range may count.
    pages = await web(
        history,
        "WebStatsTableQuery",
        breakdownBy="Page",
        dateRange=DAYS,
        includeBounceRate=True,
        limit=100,
    )
    yesterday = NOW - timedelta(days=1)
    earlier = await web(history, "WebOverviewQuery", dateRange=DAYS, now=yesterday)

    visitors, views = (item["value"] for item in whole["results"][:2])
    assert sum(row[2][0] for row in pages["results"]) == views
    assert max([0, *(row[1][0] for row in pages["results"])]) <= visitors
    assert visitors <= sum(row[1][0] for row in pages["results"])
    assert [item["previous"] for item in whole["results"]] == [
        item["value"] for item in earlier["results"]
    ]


async def test_an_event_that_came_again_for_the_merged_person_counts_once(web: Ask) -> None:
    at = NOW - timedelta(hours=3)
    own = {"$session_id": "s", "$pathname": "/"}
    one = HistoryEvent(uuid4(), "$pageview", "d1", PERSON, at, own)
    again = replace(one, person=SURVIVOR)
    history = History(happened=[one, again], merged={PERSON: SURVIVOR})

    overview = await web(history, "WebOverviewQuery", dateRange=DAYS)
    pages = await web(history, "WebStatsTableQuery", breakdownBy="Page", dateRange=DAYS)

    assert [result["value"] for result in overview["results"]] == [1, 1, 1, 0.0, 100.0]
    assert pages["results"] == [["/", [1, None], [1, None]]]
