"""Worked examples of sessions and web analytics."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from fanion.insights.actors.service import ActorFinder, read_actors
from fanion.insights.sessions.sql import first_id
from tests.insights.sessions.conftest import Ask
from tests.support.histories import NOW, Analyst, History, HistoryEvent, history_event


def session(key: str) -> dict[str, Any]:
    return {"$session_id": key}


WEEK = {"date_from": "2023-12-08", "date_to": "2023-12-15"}
COMPARED = {"compare": True}

# Sessions of two persons, one of whom had a session of a day in the week before.
VISITS = [
    history_event("$pageview", 1, "2023-12-02", **session("s1a")),
    history_event("$pageview", 1, "2023-12-03", **session("s1a")),
    history_event("$pageview", 1, "2023-12-12", **session("s1b")),
    history_event("$pageview", 2, "2023-12-11", **session("s2")),
]


def page(who: int, at: str, session: str, path: str, **more: Any) -> HistoryEvent:
    url = f"https://x.io{path}"
    own: dict[str, Any] = {"$session_id": session, "$pathname": path, "$current_url": url}
    return history_event("$pageview", who, at, **own, **more)


async def test_the_overview_compares_with_the_eight_days_before(web: Ask) -> None:
    answer = await web(
        History(happened=VISITS), "WebOverviewQuery", dateRange=WEEK, compareFilter=COMPARED
    )

    assert answer["results"] == [
        item("visitors", "unit", 2, 1, 100),
        item("views", "unit", 2, 2, 0),
        item("sessions", "unit", 2, 1, 100),
        item("session duration", "duration_s", 0.0, 86400.0, -100),
        item("bounce rate", "percentage", 100.0, 0.0, None, is_bad=True),
    ]


async def test_the_overview_of_all_time(web: Ask) -> None:
    whole = {"date_from": "all", "date_to": "2023-12-15"}

    answer = await web(History(happened=VISITS), "WebOverviewQuery", dateRange=whole)

    values = [item["value"] for item in answer["results"]]
    assert values == [2, 4, 3, 28800.0, pytest.approx(200 / 3)]
    assert {item["previous"] for item in answer["results"]} == {None}
    assert {item["changeFromPreviousPct"] for item in answer["results"]} == {None}


async def test_without_data_there_still_are_five_figures(web: Ask) -> None:
    answer = await web(History(), "WebOverviewQuery", dateRange=WEEK, compareFilter=COMPARED)

    assert [item["value"] for item in answer["results"]] == [0, 0, 0, None, None]
    assert [item["previous"] for item in answer["results"]] == [0, 0, 0, None, None]


async def test_test_accounts_are_left_out(web: Ask) -> None:
    history = History(happened=VISITS, persons={UUID(int=1): {"email": "me@us.io"}})
    own = [{"key": "email", "value": "@us.io", "operator": "not_icontains", "type": "person"}]

    answer = await web(
        history, "WebOverviewQuery", dateRange=WEEK, filterTestAccounts=True, test_accounts=own
    )

    assert [item["value"] for item in answer["results"]][:3] == [1, 1, 1]


async def test_a_conversion_goal_has_four_figures(web: Ask) -> None:
    paid = [history_event("paid", 1, f"2023-12-12 00:0{n}", **session("s1b")) for n in (1, 2)]

    answer = await web(
        History(happened=[*VISITS, *paid]),
        "WebOverviewQuery",
        dateRange=WEEK,
        conversionGoal={"customEventName": "paid"},
    )

    assert answer["results"] == [
        item("visitors", "unit", 2, None, None),
        item("total conversions", "unit", 2, None, None),
        item("unique conversions", "unit", 1, None, None),
        item("conversion rate", "percentage", 50.0, None, None),
    ]


@pytest.mark.parametrize(
    ("happened", "bounce_rate"),
    [
        ([("$pageview", 0)], 100.0),
        ([("$pageview", 0), ("$pageview", 1)], 0.0),
        ([("$pageview", 0), ("$autocapture", 1)], 0.0),
        ([("$pageview", 0), ("other", 9)], 100.0),
        ([("$pageview", 0), ("other", 10)], 0.0),
        ([("$screen", 0)], None),
    ],
)
async def test_which_sessions_bounce(
    web: Ask, happened: list[tuple[str, int]], bounce_rate: float | None
) -> None:
    visit = [
        history_event(event, 1, f"2023-12-12 10:00:{second:02}", **session("s"))
        for event, second in happened
    ]

    answer = await web(History(happened=visit), "WebOverviewQuery", dateRange=WEEK)

    assert answer["results"][4]["value"] == bounce_rate


async def test_a_session_counts_where_it_began(web: Ask) -> None:
    around = [
        page(1, "2023-12-15 23:59", "s", "/a"),
        page(1, "2023-12-16 00:01", "s", "/b"),
    ]

    on_15 = {"date_from": "2023-12-15", "date_to": "2023-12-15"}
    first = await web(History(happened=around), "WebOverviewQuery", dateRange=on_15)
    on_16 = {"date_from": "2023-12-16", "date_to": "2023-12-16"}
    second = await web(History(happened=around), "WebOverviewQuery", dateRange=on_16)

    assert [item["value"] for item in first["results"]] == [1, 1, 1, 120.0, 0.0]
    assert [item["value"] for item in second["results"]] == [0, 0, 0, None, None]


PAGES = [
    page(1, "2023-12-12 10:00:00", "s1", "/"),
    page(1, "2023-12-12 10:00:05", "s1", "/docs/1"),
    page(2, "2023-12-12 11:00", "s2", "/"),
    page(3, "2023-12-12 12:00", "s3", "/docs/2"),
    page(3, "2023-12-03 12:00", "s4", "/docs/2"),
]


async def test_pages_with_the_share_of_sessions_that_bounced_where_they_began(web: Ask) -> None:
    answer = await web(
        History(happened=PAGES),
        "WebStatsTableQuery",
        breakdownBy="Page",
        dateRange=WEEK,
        includeBounceRate=True,
        compareFilter=COMPARED,
    )

    assert answer["columns"] == [
        "context.columns.breakdown_value",
        "context.columns.visitors",
        "context.columns.views",
        "context.columns.bounce_rate",
    ]
    assert answer["results"] == [
        ["/", [2, 0], [2, 0], [0.5, None]],
        ["/docs/2", [1, 1], [1, 1], [1.0, 1.0]],
        ["/docs/1", [1, 0], [1, 0], [None, None]],
    ]


async def test_pages_are_named_by_the_rules_of_the_project(web: Ask) -> None:
    rules = [{"regex": r"/docs/(\d+)", "alias": r"/docs/<\1>"}, {"regex": "<1>", "alias": "<id>"}]

    async def pages(**options: Any) -> list[Any]:
        answer = await web(
            History(happened=PAGES),
            "WebStatsTableQuery",
            breakdownBy="Page",
            dateRange=WEEK,
            cleaning=rules,
            **options,
        )
        return [row[0] for row in answer["results"]]

    assert await pages() == ["/", "/docs/1", "/docs/2"]
    assert await pages(doPathCleaning=True) == ["/", "/docs/<2>", "/docs/<id>"]


async def test_rows_come_in_pages(web: Ask) -> None:
    async def rows(limit: int, offset: int) -> tuple[list[Any], bool]:
        answer = await web(
            History(happened=PAGES),
            "WebStatsTableQuery",
            breakdownBy="Page",
            dateRange=WEEK,
            limit=limit,
            offset=offset,
        )
        return [row[0] for row in answer["results"]], answer["hasMore"]

    assert await rows(2, 0) == (["/", "/docs/1"], True)
    assert await rows(2, 2) == (["/docs/2"], False)


async def test_rows_in_another_order(web: Ask) -> None:
    answer = await web(
        History(happened=PAGES),
        "WebStatsTableQuery",
        breakdownBy="Page",
        dateRange=WEEK,
        includeBounceRate=True,
        orderBy=["BounceRate", "ASC"],
    )

    assert [(row[0], row[3][0]) for row in answer["results"]] == [
        ("/", 0.5),
        ("/docs/2", 1.0),
        ("/docs/1", None),
    ]


@pytest.mark.parametrize(
    ("breakdown", "properties", "value"),
    [
        ("Browser", {"$browser": "Firefox"}, "Firefox"),
        ("Browser", {}, None),
        ("OS", {"$os": "Linux"}, "Linux"),
        ("DeviceType", {"$device_type": "Mobile"}, "Mobile"),
        ("ScreenName", {"$screen_name": "Home"}, "Home"),
        ("Country", {"$geoip_country_code": "DE"}, "DE"),
        (
            "Region",
            {
                "$geoip_country_code": "DE",
                "$geoip_subdivision_1_code": "BE",
                "$geoip_subdivision_1_name": "Land Berlin",
            },
            ["DE", "BE", "Land Berlin"],
        ),
        ("City", {"$geoip_country_code": "DE"}, ["DE", None]),
        ("City", {}, None),
        ("Viewport", {"$viewport_width": 1920, "$viewport_height": 1080}, [1920, 1080]),
        ("Language", {"$browser_language": "en-US"}, "en-US"),
        ("Timezone", {"$timezone_offset": -90}, 1.5),
        ("Timezone", {"$timezone_offset": 0}, 0.0),
        ("InitialReferringDomain", {"$referring_domain": "news.io"}, "news.io"),
        ("InitialUTMSource", {"utm_source": "news"}, "news"),
        ("InitialUTMMedium", {"utm_medium": "email"}, "email"),
        ("InitialUTMCampaign", {"utm_campaign": "may"}, "may"),
        ("InitialUTMTerm", {"utm_term": "shoes"}, "shoes"),
        ("InitialUTMContent", {"utm_content": "red"}, "red"),
        ("InitialUTMContent", {}, None),
        ("InitialPage", {"$current_url": "https://x.io/a?b=1#c"}, "/a"),
        ("ExitPage", {"$current_url": "https://x.io/a?b=1#c"}, "/a"),
        ("InitialChannelType", {"$referring_domain": "$direct"}, "Direct"),
    ],
)
async def test_each_breakdown(
    web: Ask, breakdown: str, properties: dict[str, Any], value: Any
) -> None:
    visit = history_event("$pageview", 1, "2023-12-12", **session("s"), **properties)

    answer = await web(
        History(happened=[visit]), "WebStatsTableQuery", breakdownBy=breakdown, dateRange=WEEK
    )

    assert answer["results"] == [[value, [1, None], [1, None]]]


async def test_visits_without_a_referrer_are_no_row_of_referrers(web: Ask) -> None:
    answer = await web(
        History(happened=VISITS),
        "WebStatsTableQuery",
        breakdownBy="InitialReferringDomain",
        dateRange=WEEK,
    )

    assert answer["results"] == []


async def test_a_table_of_conversions(web: Ask) -> None:
    paid: dict[str, Any] = {"$session_id": "s1", "$pathname": "/docs/1"}
    happened = [*PAGES, history_event("paid", 1, "2023-12-12 10:00:06", **paid)]

    answer = await web(
        History(happened=happened),
        "WebStatsTableQuery",
        breakdownBy="Page",
        dateRange=WEEK,
        conversionGoal={"customEventName": "paid"},
    )

    assert answer["results"] == [
        ["/docs/1", [1, None], [1, None], [1, None], [1.0, None]],
        ["/", [2, None], [0, None], [0, None], [0.0, None]],
        ["/docs/2", [1, None], [0, None], [0, None], [0.0, None]],
    ]


async def test_goals(web: Ask) -> None:
    paid: dict[str, Any] = {"$session_id": "s1", "$pathname": "/docs/1"}
    happened = [
        *PAGES,
        *(history_event("paid", 1, f"2023-12-12 10:00:0{n}", **paid) for n in (6, 7)),
    ]
    goals = [{"customEventName": "signed up"}, {"customEventName": "paid"}]

    answer = await web(
        History(happened=happened),
        "WebGoalsQuery",
        dateRange=WEEK,
        goals=goals,
        orderBy=["ConvertingUsers", "DESC"],
    )

    assert answer["columns"] == [
        "context.columns.action_name",
        "context.columns.converting_users",
        "context.columns.total_conversions",
        "context.columns.conversion_rate",
    ]
    assert answer["results"] == [
        ["paid", [1, None], [2, None], [pytest.approx(1 / 3), None]],
        ["signed up", [0, None], [0, None], [0, None]],
    ]


async def test_without_goals_there_are_no_rows(web: Ask) -> None:
    answer = await web(History(happened=PAGES), "WebGoalsQuery", dateRange=WEEK)

    assert (answer["results"], answer["hasMore"]) == ([], False)


def item(
    key: str,
    kind: str,
    value: float,
    previous: float | None,
    change: int | None,
    *,
    is_bad: bool | None = None,
) -> dict[str, Any]:
    return {
        "key": key,
        "kind": kind,
        "value": value,
        "previous": previous,
        "changeFromPreviousPct": change,
        "isIncreaseBad": is_bad,
    }


# A session of 54 hours from 18:00 on the first of March, with an event every six hours.
HOURS_54 = [
    page(1, f"2024-03-{day:02} {hour:02}:00", "long", f"/{day}-{hour}")
    for day, hour in [
        *((1, hour) for hour in (18,)),
        *((2, hour) for hour in (0, 6, 12, 18)),
        *((3, hour) for hour in (0, 6, 12, 18)),
        (4, 0),
    ]
]
SHORT = [page(2, "2024-03-02 10:00", "short", "/home")]
RANGES = [("2024-03-01", "2024-03-01"), ("2024-03-01", "2024-03-09"), ("2024-02-01", "2024-03-02")]


@pytest.mark.parametrize(("since", "until"), RANGES)
async def test_a_session_of_days_is_whole_whatever_the_range(
    web: Ask, since: str, until: str
) -> None:
    span = {"date_from": since, "date_to": until}
    long = {"type": "session", "key": "$session_duration", "value": 194_400, "operator": "exact"}

    overview = await web(
        History(happened=HOURS_54 + SHORT), "WebOverviewQuery", dateRange=span, properties=[long]
    )

    figures = {item["key"]: item["value"] for item in overview["results"]}
    assert (figures["sessions"], figures["session duration"]) == (1, 194_400)
    assert figures["bounce rate"] == 0


@pytest.mark.parametrize("day", ["2024-03-01", "2024-03-02", "2024-03-03", "2024-03-04"])
async def test_events_of_each_day_have_the_values_of_the_whole_session(
    analyst: Analyst, day: str
) -> None:
    question: dict[str, Any] = {
        "insight": "TRENDS",
        "date_from": day,
        "date_to": day,
        "breakdown_type": "session",
    }
    history = History(happened=HOURS_54)
    seconds: dict[str, Any] = {"math": "max", "math_property": "$session_duration"}

    entered = await analyst.answer(
        history, **question, events=[{"id": "$pageview"}], breakdown="$entry_pathname"
    )
    left = await analyst.answer(
        history, **question, events=[{"id": "$pageview"}], breakdown="$exit_pathname"
    )
    lasted = await analyst.answer(
        history,
        insight="TRENDS",
        date_from=day,
        date_to=day,
        events=[{"id": "$pageview", **seconds, "math_property_type": "session_properties"}],
    )

    assert [session["breakdown_value"] for session in entered] == ["/1-18"]
    assert [session["breakdown_value"] for session in left] == ["/4-0"]
    assert lasted[0]["data"] == [194_400]


def id_of_session(began: datetime) -> str:
    """Return a UUID of version 7."""
    digits = f"{int(began.timestamp() * 1000):012x}"
    return f"{digits[:8]}-{digits[8:]}-7000-8000-000000000001"


# A session with a pause of four days, which only its id tells.
PAUSED = id_of_session(datetime(2024, 3, 1, 10, tzinfo=UTC))
PAUSED_VISIT = History(
    happened=[
        page(1, "2024-03-01 10:00", PAUSED, "/first"),
        page(1, "2024-03-05 10:00", PAUSED, "/last"),
    ]
)


@pytest.mark.parametrize("more", [{}, {"includeBounceRate": True}])
async def test_a_paused_session_counts_where_it_began(web: Ask, more: dict[str, Any]) -> None:
    rows = {
        day: await web(
            PAUSED_VISIT,
            "WebStatsTableQuery",
            breakdownBy="Page",
            dateRange={"date_from": day, "date_to": day},
            **more,
        )
        for day in ("2024-03-01", "2024-03-05")
    }

    assert [len(table["results"]) for table in rows.values()] == [1, 0]


async def test_persons_behind_a_number_are_those_of_whole_sessions(analyst: Analyst) -> None:
    project = await analyst.store_anew(History(happened=HOURS_54 + SHORT))
    asked = {
        "insight": "TRENDS",
        "date_from": "2024-03-02",
        "date_to": "2024-03-02",
        "events": [{"id": "$pageview"}],
        "properties": [
            {"type": "session", "key": "$session_duration", "operator": "exact", "value": 194_400}
        ],
    }
    query = read_actors(asked)

    analyses = [analyst.analysis for _ in range(2)]
    first_page = await ActorFinder(analyses[0]).find_page(project, query, NOW, limit=10)
    batches = ActorFinder(analyses[1]).find_batches(project, query, NOW, size=2)
    read = [actors async for actors in batches]

    assert len(first_page.actors) == 1
    assert read == [first_page.actors]
    assert [analysis.statements.long_sessions for analysis in analyses] == [{project.id}] * 2


async def test_a_session_may_become_long_between_two_batches(analyst: Analyst) -> None:
    visits = [page(who, "2024-03-02 10:00", f"session-{who}", "/home") for who in (1, 2, 3)]
    project = await analyst.store_anew(History(happened=visits))
    query = read_actors(
        {
            "insight": "TRENDS",
            "date_from": "2024-03-02",
            "date_to": "2024-03-02",
            "events": [{"id": "$pageview", "math": "dau"}],
            "properties": [
                {"type": "session", "key": "$pageview_count", "operator": "gte", "value": 1}
            ],
        }
    )
    finder = ActorFinder(analyst.analysis)

    batches = finder.find_batches(project, query, NOW, size=1, batch_max=1)
    read = [await anext(batches)]
    later = page(3, "2024-03-03 10:00", "session-3", "/late")
    await analyst.add_events(project.id, [later])
    read += [actors async for actors in batches]

    assert [len(actors) for actors in read] == [1, 1, 1]
    assert len({who for [(who, _)] in read}) == 3


async def test_a_session_id_says_when_a_session_began_that_has_paused(analyst: Analyst) -> None:
    entered = await analyst.answer(
        PAUSED_VISIT,
        insight="TRENDS",
        date_from="2024-03-05",
        date_to="2024-03-05",
        events=[{"id": "$pageview"}],
        breakdown="$entry_pathname",
        breakdown_type="session",
    )

    assert [item["breakdown_value"] for item in entered] == ["/first"]


@pytest.mark.parametrize(
    ("moment", "first"),
    [
        (datetime(1969, 12, 31, tzinfo=UTC), "00000000-0000"),
        (datetime(1970, 1, 1, 0, 0, 0, 1999, tzinfo=UTC), "00000000-0001"),
        (datetime(2023, 12, 15, tzinfo=UTC), "018c6ac5-d800"),
        (datetime(2299, 12, 31, tzinfo=UTC), "0978a139-1c00"),
    ],
)
def test_ids_of_sessions_made_at_a_time_begin_with_its_milliseconds(
    moment: datetime, first: str
) -> None:
    assert first_id(moment) == first
