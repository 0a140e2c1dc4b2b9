"""The client of another server: waits as it asks, giving up in the end, and not being misled."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from fanion.transfer.document import TileEntry
from fanion.transfer.posthog import client
from fanion.transfer.posthog.client import (
    TRIES_MAX,
    Source,
    SourceError,
    SourceStatusError,
    open_source,
)
from fanion.transfer.posthog.reader import read_source
from fanion.transfer.report import ObjectOutcome, Report
from tests.support.scripted_source import (
    ReceivedRequest,
    Script,
    ScriptedAnswer,
    ScriptedSource,
    scripted_server,
)

KEY = "phx_secret"
Opened = tuple[Source, ScriptedSource, list[float]]


@asynccontextmanager
async def opened(script: Script, path: str = "") -> AsyncIterator[Opened]:
    """Open a source, and yield it with its server and the seconds that were waited."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    with scripted_server(script) as server:
        async with open_source(server.url + path, KEY, "1", sleep) as source:
            yield source, server, waited


def in_turn(*answers: ScriptedAnswer | None) -> Script:
    waiting = iter(answers)
    return lambda _: next(waiting)


async def all_rows(source: Source) -> list[Any]:
    return [row async for row in source.list_rows("/api/projects/1/cohorts/")]


async def test_a_throttled_request_waits_as_long_as_the_server_asks() -> None:
    script = in_turn(
        ScriptedAnswer(429, {"detail": "slowly"}, {"retry-after": "7"}),
        ScriptedAnswer(503, b"", {"retry-after": "99999"}),
        ScriptedAnswer(429, b"", {"retry-after": "soon"}),
        ScriptedAnswer(500, b"oops"),
        None,
        ScriptedAnswer(200, {"a": 1}),
    )
    async with opened(script) as (source, server, waited):
        body = await source.get("/api/x/")

    assert body == {"a": 1}
    assert waited == [7.0, client.WAIT_S_MAX, 4.0, 8.0, 16.0]
    assert [request.headers["authorization"] for request in server.requests] == [
        f"Bearer {KEY}"
    ] * 6


async def test_a_time_to_wait_for_may_be_a_date() -> None:
    then = datetime.now(UTC) + timedelta(seconds=30)
    script = in_turn(
        ScriptedAnswer(429, b"", {"retry-after": format_datetime(then)}), ScriptedAnswer()
    )
    async with opened(script) as (source, _, waited):
        await source.get("/api/x/")

    assert 20 < waited[0] <= 30


async def test_it_is_given_up_in_the_end() -> None:
    async with opened(lambda _: ScriptedAnswer(429, {"detail": "slowly"})) as (
        source,
        server,
        waited,
    ):
        with pytest.raises(SourceError) as refused:
            await source.get("/api/x/")

    assert str(refused.value) == (
        "the source responds to /api/x/ with 429: slowly; gave up after 6 tries"
    )
    assert (len(server.requests), len(waited)) == (TRIES_MAX, TRIES_MAX - 1)


async def test_a_server_that_is_not_there_is_named() -> None:
    async with opened(lambda _: None) as (source, server, _):
        with pytest.raises(SourceError) as refused:
            await source.get("/api/x/")

    assert str(refused.value).startswith("the source cannot be reached: ")
    assert len(server.requests) == TRIES_MAX


REFUSALS: list[tuple[ScriptedAnswer, str]] = [
    (
        ScriptedAnswer(401, {"detail": "Invalid Personal API key."}),
        "the source responds to /api/x/ with 401: Invalid Personal API key.",
    ),
    (ScriptedAnswer(404, b"<html>"), "the source responds to /api/x/ with 404"),
    (ScriptedAnswer(403, [1]), "the source responds to /api/x/ with 403"),
    (
        ScriptedAnswer(301, b"", {"location": "https://elsewhere.example/"}),
        "the source responds to /api/x/ with 301: it redirects to https://elsewhere.example/; "
        "give that address",
    ),
]


@pytest.mark.parametrize(("answer", "said"), REFUSALS)
async def test_what_does_not_help_is_not_asked_again(answer: ScriptedAnswer, said: str) -> None:
    async with opened(lambda _: answer) as (source, server, waited):
        with pytest.raises(SourceStatusError) as refused:
            await source.get("/api/x/")

    assert str(refused.value) == said
    assert (len(server.requests), waited) == (1, [])


async def test_what_is_not_json_is_said_to_be_so() -> None:
    async with opened(lambda _: ScriptedAnswer(200, b"<html>Welcome</html>")) as (source, _, _):
        with pytest.raises(SourceError) as refused:
            await source.get("/api/x/")

    assert str(refused.value) == "/api/x/ of the source is not JSON: is this the right address?"


async def test_pages_are_followed_to_the_same_place_wherever_they_lead() -> None:
    def script(request: ReceivedRequest) -> ScriptedAnswer:
        offset = int(request.query.get("offset", 0))
        following = f"https://thief.example/steal/?limit=100&offset={offset + 2}"
        more = following if offset < 4 else None
        rows = [offset, offset + 1] if offset < 6 else []
        return ScriptedAnswer(200, {"next": more, "results": rows})

    async with opened(script, "/prefix") as (source, server, _):
        read = await all_rows(source)

    assert read == [0, 1, 2, 3, 4, 5]
    assert {request.path for request in server.requests} == {"/prefix/api/projects/1/cohorts/"}
    assert [request.query for request in server.requests] == [
        {"limit": "100"},
        {"limit": "100", "offset": "2"},
        {"limit": "100", "offset": "4"},
        {"limit": "100", "offset": "6"},
    ]


@dataclass
class Pages:
    """A server with a list of rows.

    Attributes:
        cap: The rows of a page.
        links: How the server links to the next page.
        counts: Whether the server counts the rows.
        offsets: Whether the server knows offsets.
    """

    rows: int
    cap: int = 30
    links: str = ""
    counts: bool = False
    offsets: bool = True

    def __call__(self, request: ReceivedRequest) -> ScriptedAnswer:
        start = int(request.query.get("offset", 0)) if self.offsets else 0
        end = start + min(int(request.query["limit"]), self.cap)
        link = f"{self.links}?limit={self.cap}&offset={end}" if end < self.rows else None
        counted = {"count": self.rows} if self.counts else {}
        rows = list(range(self.rows))[start:end]
        return ScriptedAnswer(
            200, {**counted, "next": link if self.links else None, "results": rows}
        )


LISTINGS = [
    Pages(100),
    Pages(100, counts=True),
    Pages(90, counts=True),
    Pages(100, links="https://elsewhere.example/x/"),
    Pages(100, links="/api/projects/1/cohorts/"),
    Pages(100, links="/", counts=True),
    Pages(0),
    Pages(0, counts=True),
    # A server without offsets has one page.
    Pages(30, offsets=False),
]


@pytest.mark.parametrize("listing", LISTINGS)
async def test_a_list_is_read_to_its_end_however_it_is_linked(listing: Pages) -> None:
    async with opened(listing) as (source, server, _):
        assert await all_rows(source) == list(range(listing.rows))

    pages = -(-listing.rows // listing.cap)
    assert len(server.requests) == max(pages, 1) + (not listing.counts and listing.rows > 0)


async def test_rows_that_are_counted_and_not_listed_are_reported() -> None:
    cohort = {"id": 1, "name": "Staff", "groups": []}

    document, report = await read(
        feature_flags=[], cohorts={"count": 3, "results": [cohort], "next": None}
    )

    assert [cohort.name for cohort in document.cohorts] == ["Staff"]
    [missing] = [outcome for outcome in report.outcomes if outcome.kind == "cohorts"]
    assert (missing.result, missing.count) == ("skipped", 2)
    assert missing.why == "the source counts 3 and lists 1"


LISTS: list[tuple[Any, str]] = [
    ({"results": 1}, "is not a list"),
    (7, "is not a list"),
    ({"results": [], "next": "?limit=100"}, "returns the same page twice"),
    ({"results": [], "next": "/somewhere"}, "links to a next page without a query"),
]


@pytest.mark.parametrize(("page", "said"), LISTS)
async def test_a_list_that_does_not_end_is_given_up(page: Any, said: str) -> None:
    async with opened(lambda _: ScriptedAnswer(200, page)) as (source, _, _):
        with pytest.raises(SourceError) as refused:
            await all_rows(source)

    assert str(refused.value) == f"/api/projects/1/cohorts/ of the source {said}"


@pytest.mark.parametrize(
    ("host", "key", "project"),
    [
        ("ftp://x", KEY, "1"),
        ("example.com", KEY, "1"),
        ("http://", KEY, "1"),
        ("http://x:port", KEY, "1"),
        ("http://x?a=b", KEY, "1"),
        ("http://me:secret@x", KEY, "1"),
        ("", KEY, "1"),
        ("http://x", "", "1"),
        ("http://x", "ключ", "1"),
        ("http://x", "a\nb", "1"),
        ("http://x", KEY, "../2"),
        ("http://x", KEY, ""),
    ],
)
async def test_what_is_no_address_key_or_project_is_refused(
    host: str, key: str, project: str
) -> None:
    with pytest.raises(SourceError):
        async with open_source(host, key, project):
            pass


def project(
    settings: dict[str, Any] | None = None, **lists: Any
) -> Callable[[ReceivedRequest], ScriptedAnswer]:
    """Return a server with these lists, and nothing else.

    Args:
        settings: Fields in the body of the project.
    """

    def script(request: ReceivedRequest) -> ScriptedAnswer:
        if request.path == "/api/projects/1/":
            return ScriptedAnswer(200, {"id": 1, "organization": "o", **(settings or {})})
        name = request.path.removeprefix("/api/projects/1/").strip("/")
        listed = lists.get(name)
        if listed is None:
            return ScriptedAnswer(404, {"detail": "Not found."})
        return ScriptedAnswer(
            200, listed if isinstance(listed, dict) else {"results": listed, "next": None}
        )

    return script


def on(*leaves: Any) -> dict[str, Any]:
    """Return the filters of a flag."""
    return {"groups": [{"properties": list(leaves)}]}


async def read(settings: dict[str, Any] | None = None, **lists: Any) -> tuple[Any, Report]:
    report = Report()
    async with opened(project(settings, **lists)) as (source, _, _):
        return await read_source(source, report), report


async def test_what_cannot_be_used_is_left_out_with_all_that_needs_it() -> None:
    time = "2024-01-01T00:00:00Z"
    look = {"type": "person", "key": "a", "operator": "regex", "value": "(?=x)"}
    on_bad = {"type": "flag", "key": "1", "operator": "flag_evaluates_to", "value": True}
    flags = [
        {
            "id": 1,
            "key": "bad",
            "created_at": time,
            "filters": {"groups": [{"properties": [look]}]},
        },
        {
            "id": 2,
            "key": "n",
            "created_at": time,
            "filters": {"groups": [{"properties": [on_bad]}]},
        },
        {"id": 3, "key": "good", "created_at": time, "analytics_dashboards": [5]},
        {"id": 3, "key": "good", "created_at": time, "analytics_dashboards": [5]},
        {"id": 4, "key": "gone", "created_at": time, "deleted": True},
        {"id": 6, "key": 7},
        "flag",
    ]
    insights = [
        {"id": 8, "short_id": "new", "name": "New", "query": {"kind": "X"}, "filters": {}},
        {"id": 9, "short_id": "odd", "filters": {"insight": "TRENDS", "interval": "aeon"}},
    ]
    texts = [{"text": {"id": 1, "body": body}} for body in (" Read **this** ", "", None)]
    tiles = [{"insight": {"id": 9}}, {"insight": None}, *texts]
    board = {"id": 5, "name": "Board", "tiles": tiles}

    document, report = await read(
        feature_flags=flags,
        cohorts=[],
        insights=insights,
        dashboards=[{"id": 5, "name": "Board"}],
        **{"dashboards/5": board},
    )

    assert [(flag.key, flag.analytics_dashboards) for flag in document.flags] == [
        ("good", ["Board"])
    ]
    [dashboard] = document.dashboards
    assert dashboard.tiles == [TileEntry(text="Read **this**")]
    skipped = [(outcome.kind, outcome.name, outcome.why) for outcome in report.outcomes]
    assert {outcome.result for outcome in report.outcomes} == {"skipped"}
    assert [outcome[:2] for outcome in skipped] == [
        ("flag", "7"),
        ("flag", "[6]"),
        ("groups_types", "all"),
        ("event_definitions", "all"),
        ("property_definitions", "all"),
        ("actions", "all"),
        ("role", "all"),
        ("experiment_holdouts", "all"),
        ("experiment_saved_metrics", "all"),
        ("experiments", "all"),
        ("tile", "Board"),
        ("insight", "new"),
        ("insight", "odd"),
        ("flag", "bad"),
        ("flag", "n"),
    ]
    assert skipped[-1][2] == "filters: flag 'bad' is not in the document"
    assert skipped[2][2] == (
        "the source responds to /api/projects/1/groups_types/ with 404: Not found."
    )


async def test_a_missing_cohort_matches_no_person() -> None:
    leaf = {"type": "cohort", "key": "id", "value": 12}
    flag = {"id": 1, "key": "a", "created_at": "2024-01-01T00:00:00", "filters": on(leaf)}

    document, report = await read(feature_flags=[flag], cohorts=[])

    [cohort] = document.cohorts
    assert (cohort.key, cohort.deleted) == ("missing cohort 12", True)
    assert document.flags[0].created_at == datetime(2024, 1, 1, tzinfo=UTC)
    assert ObjectOutcome("flag", "a", "skipped") not in report.outcomes


async def test_conditions_on_test_accounts_come_along() -> None:
    outside = {"type": "cohort", "key": "id", "operator": "not_in", "value": 12}
    odd = {"type": "hogql", "key": "1 = 1"}
    staff = {"id": 12, "name": "Staff", "filters": {"properties": {"type": "AND", "values": []}}}

    document, report = await read(
        {"test_account_filters": [odd, outside]}, feature_flags=[], cohorts=[staff]
    )

    assert document.test_account_filters == [{**outside, "value": {"cohort": "Staff"}}]
    [skipped] = [outcome for outcome in report.outcomes if outcome.kind == "test account filter"]
    assert (skipped.name, skipped.result) == ("1", "skipped")
    assert skipped.why.startswith('type: "hogql" is not a valid choice.')


async def test_flags_must_be_readable() -> None:
    with pytest.raises(SourceStatusError) as refused:
        await read(cohorts=[])

    assert str(refused.value) == (
        "the source responds to /api/projects/1/feature_flags/ with 404: Not found."
    )


ACCEPTED: list[dict[str, Any]] = [
    {"key": "age", "operator": "gt", "value": 18},
    {"key": "age", "operator": "lte", "value": 99.5},
    {"key": "app.version", "operator": "semver_gte", "value": "1.2.0"},
    {"key": "app.version", "operator": "semver_caret", "value": "2.0.0-beta.1"},
    {"key": "signed up", "operator": "is_date_after", "value": "-30d"},
    {"key": "plan", "value": ["pro"]},
]


@pytest.mark.parametrize("leaf", ACCEPTED)
async def test_conditions_of_the_source_come_along(leaf: dict[str, Any]) -> None:
    condition = {"type": "person", **leaf}
    flag = {"id": 1, "key": "a", "created_at": "2024-01-01T00:00:00", "filters": on(condition)}
    tree = {"properties": {"type": "AND", "values": [condition]}}
    cohort = {"id": 12, "name": "Some", "filters": tree}

    document, report = await read(feature_flags=[flag], cohorts=[cohort])

    assert [entry.filters["groups"][0]["properties"] for entry in document.flags] == [[condition]]
    assert [entry.filters for entry in document.cohorts] == [tree]
    assert not [outcome for outcome in report.outcomes if outcome.kind in ("flag", "cohort")]


@pytest.mark.parametrize("key", ["my.flag", "my flag", "ключ/1"])
async def test_flags_of_the_source_keep_their_keys_and_payloads(key: str) -> None:
    filters = {
        "groups": [{"properties": [], "rollout_percentage": 100.0}],
        "payloads": {"true": "hi"},
    }
    flag = {"id": 1, "key": key, "created_at": "2024-01-01T00:00:00", "filters": filters}

    document, report = await read(feature_flags=[flag], cohorts=[])

    [entry] = document.flags
    assert (entry.key, entry.filters["payloads"]) == (key, {"true": "hi"})
    assert type(entry.filters["groups"][0]["rollout_percentage"]) is int
    assert not [outcome for outcome in report.outcomes if outcome.kind == "flag"]
