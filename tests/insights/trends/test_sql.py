"""Trends counted by the event store."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import insert

from fanion.db.engine import Records, open_records
from fanion.db.schema.cohorts import NEVER, cohort_people, cohorts
from fanion.db.schema.tables import persons
from fanion.errors import Invalid
from fanion.events.event import Event, Override, PersonRow
from fanion.events.storage.store import EventStore
from fanion.insights.calculation.service import Analysis
from fanion.insights.dates.intervals import DateRange
from fanion.insights.kinds.service import Calculator
from fanion.insights.sql.compiler import NONE, OTHER
from fanion.insights.trends.query import parse_trends
from fanion.insights.trends.service import RollingAverage
from fanion.projects.model import Project
from tests.support.histories import results_of

NOW = datetime(2024, 5, 15, 13, 45, tzinfo=UTC)
LAST_THREE_DAYS = {"date_from": "-2d"}
PERSON = UUID(int=1)


@dataclass
class ProjectTrends:
    """The trends of one project.

    Attributes:
        zone: The time zone of the project.
    """

    project_id: int
    events: EventStore
    records: Records
    zone: str = "UTC"
    stored: list[Event] = field(default_factory=list)

    async def happened(
        self,
        at: str,
        who: UUID = PERSON,
        event: str = "called",
        times: int = 1,
        uuid: UUID | None = None,
        **properties: Any,
    ) -> None:
        """Add events.

        Args:
            at: A local time in the zone.
        """
        when = datetime.fromisoformat(at).replace(tzinfo=ZoneInfo(self.zone)).astimezone(UTC)
        text = json.dumps(properties).encode()
        self.stored += [
            Event(self.project_id, uuid or uuid4(), event, f"d{who.int}", who, when, when, text)
            for _ in range(times)
        ]

    async def persons(self, **properties: dict[str, Any]) -> None:
        """Store the properties of persons, by number."""
        await self.events.mirror_persons(
            [
                PersonRow(self.project_id, UUID(int=int(n[1:])), json.dumps(held).encode(), NOW, 1)
                for n, held in properties.items()
            ]
        )

    async def merged(self, old: int, new: int) -> None:
        moved = Override(self.project_id, UUID(int=old), UUID(int=new), 1)
        await self.events.override_persons([moved])

    async def trend(self, event: str | None = "called", **filters: Any) -> list[dict[str, Any]]:
        math = filters.pop("math", None)
        question = {"events": [{"id": event, "math": math}], **LAST_THREE_DAYS, **filters}
        await self.store()
        calculator = Calculator(Analysis(self.records, self.events))
        found: list[dict[str, Any]] = results_of(
            await calculator.result(self.project, parse_trends(question), NOW)
        )
        return found

    async def store(self) -> None:
        await self.events.insert(self.events.encoder.batch(self.stored), uuid4().hex)
        self.stored.clear()

    async def numbers(self, **filters: Any) -> list[float]:
        """Return the numbers of the only series."""
        [entry] = await self.trend(**filters)
        data: list[float] = entry["data"]
        return data

    async def by_value(self, **filters: Any) -> dict[str, list[float]]:
        return {series["breakdown_value"]: series["data"] for series in await self.trend(**filters)}

    @property
    def project(self) -> Project:
        return Project(self.project_id, uuid4(), uuid4(), "p", "phc_x", self.zone, NOW)


@pytest.fixture
async def project_trends(
    every_layout: EventStore, project_id: int, sqlite_url: str
) -> AsyncIterator[ProjectTrends]:
    store = await open_records(sqlite_url)
    yield ProjectTrends(project_id, every_layout, store)
    await store.close()


async def test_events_are_counted_by_day(project_trends: ProjectTrends) -> None:
    await project_trends.happened("2024-05-12T23:59:59")
    await project_trends.happened("2024-05-13T00:00:00")
    await project_trends.happened("2024-05-13T23:59:59.999999", times=2)
    await project_trends.happened("2024-05-15T23:00:00")
    await project_trends.happened("2024-05-16T00:00:00")
    await project_trends.happened("2024-05-14T12:00:00", event="another")

    assert await project_trends.numbers() == [3.0, 0.0, 1.0]
    assert await project_trends.numbers(event=None) == [3.0, 1.0, 1.0]


async def test_an_event_that_is_stored_twice_counts_once(project_trends: ProjectTrends) -> None:
    same = uuid4()
    await project_trends.happened("2024-05-14T10:00:00", uuid=same)
    await project_trends.store()
    await project_trends.happened("2024-05-14T10:00:00", uuid=same)
    await project_trends.store()
    await project_trends.happened("2024-05-15T00:00:01", uuid=same)

    assert sum(await project_trends.numbers()) == 1
    assert sum(sum(data) for data in (await project_trends.by_value(breakdown="x")).values()) == 1


async def test_numbers_in_text_are_one_thing_for_conditions_and_sums(
    project_trends: ProjectTrends,
) -> None:
    for n in (" 12 ", "1 000", "7", 3, "x", True, [5], None, "1e999"):
        await project_trends.happened("2024-05-15T10:00", n=n)
    math: dict[str, Any] = {"events": [{"id": "called", "math": "sum", "math_property": "n"}]}
    numbers = [{"type": "event", "key": "n", "operator": "lt", "value": 10**6}]

    [every] = await project_trends.trend(**math)
    [chosen] = await project_trends.trend(**math, properties=numbers)
    [counted] = await project_trends.trend(properties=numbers)

    assert every["data"][-1] == chosen["data"][-1] == 1022
    assert counted["data"][-1] == 4


async def test_a_person_counts_once_an_interval(project_trends: ProjectTrends) -> None:
    await project_trends.happened("2024-05-14T10:00:00", UUID(int=1), times=3)
    await project_trends.happened("2024-05-15T10:00:00", UUID(int=1))
    await project_trends.happened("2024-05-15T10:00:00", UUID(int=2))

    assert await project_trends.numbers(math="dau") == [0.0, 1.0, 2.0]
    [total] = await project_trends.trend(math="dau", display="BoldNumber")
    assert total["aggregated_value"] == 2.0


async def test_merged_persons_count_once(project_trends: ProjectTrends) -> None:
    for person in (1, 2, 3):
        await project_trends.happened("2024-05-15T10:00:00", UUID(int=person))
    await project_trends.merged(2, 1)

    assert await project_trends.numbers(math="dau") == [0.0, 0.0, 2.0]


@pytest.mark.parametrize(
    ("day", "hours"), [("2024-03-31", 23), ("2024-10-27", 25), ("2024-05-01", 24)]
)
async def test_days_and_hours_are_in_the_projects_zone(
    project_trends: ProjectTrends, day: str, hours: int
) -> None:
    project_trends.zone = "Europe/Berlin"
    await project_trends.happened(f"{day}T00:00:00")
    await project_trends.happened(f"{day}T23:59:59")
    question = {"date_from": day, "date_to": day}

    assert await project_trends.numbers(**question) == [2.0]
    assert await project_trends.numbers(**question, interval="hour") == [
        1.0,
        *[0.0] * (hours - 2),
        1.0,
    ]


async def test_the_repeated_hour_is_counted_apart(project_trends: ProjectTrends) -> None:
    project_trends.zone = "Europe/Berlin"
    for minute in (0, 60, 120):
        at = datetime(2024, 10, 27, 0, 30, tzinfo=UTC) + timedelta(minutes=minute)
        project_trends.stored.append(
            Event(project_trends.project_id, uuid4(), "called", "d", UUID(int=1), at, at, b"{}")
        )

    [entry] = await project_trends.trend(
        date_from="2024-10-27", date_to="2024-10-27", interval="hour"
    )

    found = [day for day, number in zip(entry["days"], entry["data"], strict=True) if number]
    assert found == ["2024-10-27 02:00:00", "2024-10-27 02:00:00", "2024-10-27 03:00:00"]


@pytest.mark.parametrize(
    ("interval", "numbers"),
    [
        ("week", [2.0, 0.0, 0.0, 2.0, 1.0]),
        ("month", [2.0, 3.0]),
        ("quarter", [5.0]),
        ("year", [6.0]),
    ],
)
async def test_the_first_interval_is_complete(
    project_trends: ProjectTrends, interval: str, numbers: list[float]
) -> None:
    for day in ("03-31", "04-14", "04-16", "05-05", "05-11", "05-12"):
        await project_trends.happened(f"2024-{day}T12:00:00")

    assert await project_trends.numbers(date_from="-30d", interval=interval) == numbers
    explicit = await project_trends.numbers(date_from="-30d", interval=interval, explicit_date=True)
    assert sum(explicit) == 4.0
    assert explicit[1:] == numbers[1:]


async def test_each_value_of_a_breakdown_has_its_own_entry(project_trends: ProjectTrends) -> None:
    for value in ("control", True, False, 1.5, 7, "", None):
        await project_trends.happened("2024-05-15T10:00:00", answer=value)
    await project_trends.happened("2024-05-15T10:00:00")

    found = await project_trends.by_value(breakdown="answer")

    assert {value: sum(data) for value, data in found.items()} == {
        "control": 1.0,
        "true": 1.0,
        "false": 1.0,
        "1.5": 1.0,
        "7": 1.0,
        NONE: 3.0,
    }


@pytest.mark.parametrize("key", ["a b", "a.b", "$feature/flag", "a`b", "ä"])
async def test_any_property_can_break_down(project_trends: ProjectTrends, key: str) -> None:
    held: dict[str, Any] = {key: "yes"}
    await project_trends.happened("2024-05-15T10:00:00", **held)

    found = await project_trends.by_value(breakdown=key)

    assert list(found) == ["yes"]


async def test_values_beyond_the_largest_are_grouped_as_other(
    project_trends: ProjectTrends,
) -> None:
    for value in range(30):
        times = 2 if value < 25 else 1
        await project_trends.happened(
            "2024-05-15T10:00:00", UUID(int=1), times=times, answer=f"v{value:02}"
        )

    found = await project_trends.by_value(breakdown="answer")
    person_names = await project_trends.by_value(breakdown="answer", math="dau")

    assert len(found) == 26
    assert found[OTHER] == [0.0, 0.0, 5.0]
    assert person_names[OTHER] == [0.0, 0.0, 1.0]


async def test_a_breakdown_by_person_uses_the_surviving_person(
    project_trends: ProjectTrends,
) -> None:
    await project_trends.persons(p1={"plan": "pro"}, p2={"plan": "free"}, p3={})
    await project_trends.merged(4, 1)
    for person in (1, 2, 3, 4, 5):
        await project_trends.happened("2024-05-15T10:00:00", UUID(int=person), times=2)

    question = {"breakdown": "plan", "breakdown_type": "person"}
    totals = await project_trends.by_value(**question)
    person_names = await project_trends.by_value(**question, math="dau")

    assert {value: data[-1] for value, data in totals.items()} == {"pro": 4, "free": 2, NONE: 4}
    assert {value: data[-1] for value, data in person_names.items()} == {
        "pro": 1,
        "free": 1,
        NONE: 2,
    }


FILTERS: list[tuple[list[dict[str, Any]], set[int]]] = [
    ([{"key": "plan", "type": "person", "value": "pro"}], {1, 4}),
    ([{"key": "plan", "type": "person", "operator": "is_not", "value": "pro"}], {2, 3, 5}),
    ([{"key": "plan", "type": "person", "operator": "is_set"}], {1, 2, 4}),
    ([{"key": "plan", "type": "person", "operator": "is_not_set"}], {3, 5}),
    ([{"key": "plan", "type": "person", "value": "pro", "negation": True}], {2, 3, 5}),
    ([{"key": "n", "type": "event", "operator": "gt", "value": "2"}], {3, 4, 5}),
    ([{"key": "n", "operator": "lte", "value": "2"}], {1, 2}),
    (
        [
            {"key": "n", "operator": "gt", "value": "1"},
            {"key": "plan", "type": "person", "value": "pro"},
        ],
        {4},
    ),
    ([{"key": "born", "type": "person", "operator": "is_date_after", "value": "-7d"}], {2}),
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(FILTERS)))
async def test_filters_select_events_and_persons(project_trends: ProjectTrends, place: int) -> None:
    properties, expected = FILTERS[place]
    await project_trends.persons(
        p1={"plan": "pro", "born": "2024-01-01"}, p2={"plan": "free", "born": "2024-05-10"}, p3={}
    )
    await project_trends.merged(4, 1)
    for person in (1, 2, 3, 4, 5):
        await project_trends.happened("2024-05-15T10:00:00", UUID(int=person), n=person)

    found = await project_trends.by_value(breakdown="n", properties=properties)

    assert {int(value) for value in found} == expected


async def test_filters_may_be_groups_and_belong_to_one_event(project_trends: ProjectTrends) -> None:
    for n in range(4):
        await project_trends.happened("2024-05-15T10:00:00", n=n, even=n % 2 == 0)
    either = {
        "type": "AND",
        "values": [
            {"type": "OR", "values": [{"key": "n", "value": 1}, {"key": "even", "value": "true"}]}
        ],
    }
    own = [{"id": "called", "properties": [{"key": "n", "operator": "gt", "value": "0"}]}]

    assert sum(await project_trends.numbers(properties=either)) == 3
    assert sum(await project_trends.numbers(properties=either, events=own)) == 2


async def test_two_series_are_compared_with_the_previous_range(
    project_trends: ProjectTrends,
) -> None:
    await project_trends.happened("2024-05-12T10:00:00", times=4)
    await project_trends.happened("2024-05-15T10:00:00", times=2)
    await project_trends.happened("2024-05-15T10:00:00", event="other")
    dates = {"date_from": "2024-05-13", "date_to": "2024-05-15"}

    result = await project_trends.trend(
        events=[{"id": "called"}, {"id": "other"}], compare=True, **dates
    )

    reported = [
        (entry["label"], entry["compare_label"], entry["data"], entry["days"][0])
        for entry in result
    ]
    assert reported == [
        ("called", "current", [0.0, 0.0, 2.0], "2024-05-13"),
        ("other", "current", [0.0, 0.0, 1.0], "2024-05-13"),
        ("called", "previous", [0.0, 0.0, 4.0], "2024-05-10"),
        ("other", "previous", [0.0, 0.0, 0.0], "2024-05-10"),
    ]


async def test_seven_days_are_compared_with_the_same_weekdays(
    project_trends: ProjectTrends,
) -> None:
    await project_trends.happened("2024-05-01T10:00:00", times=3)
    await project_trends.happened("2024-05-08T10:00:00", times=2)
    await project_trends.happened("2024-05-15T10:00:00")

    result = await project_trends.trend(date_from="-7d", compare=True)

    reported = [
        (entry["days"][0], entry["days"][-1], entry["data"][0], entry["data"][-1])
        for entry in result
    ]
    assert reported == [
        ("2024-05-08", "2024-05-15", 2.0, 1.0),
        ("2024-05-01", "2024-05-08", 3.0, 2.0),
    ]


async def test_all_time_begins_with_the_first_event(project_trends: ProjectTrends) -> None:
    await project_trends.happened("2024-05-10T10:00:00")
    await project_trends.happened("2024-05-01T10:00:00", event="other")

    assert len(await project_trends.numbers(date_from="all")) == 6
    assert len(await project_trends.numbers(date_from="all", event="never")) == 1


async def test_a_query_with_too_many_numbers_is_refused(project_trends: ProjectTrends) -> None:
    with pytest.raises(Invalid) as refused:
        await project_trends.trend(date_from="-1y", interval="hour", breakdown="x")

    assert refused.value.attr == "interval"


async def test_a_rolling_average_counts_exactly_seven_days(project_trends: ProjectTrends) -> None:
    for day in range(8, 16):
        await project_trends.happened(f"2024-05-{day:02}T13:00:00", times=7)
    await project_trends.store()
    query = parse_trends({"insight": "trends", "events": [{"order": 0, "id": "called"}]})

    average = await RollingAverage(
        Analysis(project_trends.records, project_trends.events)
    ).daily_average(project_trends.project, query, DateRange(NOW - timedelta(days=7), NOW))

    assert average == 7.0


@pytest.mark.every_engine
async def test_members_of_a_cohort_are_those_of_its_last_calculation(
    records: Records, every_layout: EventStore, project_id: int
) -> None:
    project_trends = ProjectTrends(project_id, every_layout, records)
    cohort_id = await _cohort(records, project_id, members=[1, 2], gone=[3])
    await project_trends.merged(4, 1)
    for person in range(1, 6):
        await project_trends.happened("2024-05-15T10:00:00", UUID(int=person), n=person)
    leaf = {"key": "id", "type": "cohort", "value": cohort_id}

    inside = await project_trends.by_value(breakdown="n", properties=[leaf])
    outside = await project_trends.by_value(
        breakdown="n", properties=[{**leaf, "operator": "not_in"}]
    )

    assert (sorted(inside), sorted(outside)) == (["1", "2", "4"], ["3", "5"])


async def _cohort(
    records: Records, project_id: int, members: Sequence[int], gone: Sequence[int]
) -> int:
    async with records.write() as connection:
        added = await connection.execute(
            insert(cohorts)
            .values(
                project_id=project_id, name="c", description="", groups=[], filters=None,
                deleted=False, is_static=True, is_calculating=False, count=None,
                errors_calculating=0, version=3, requested=3, created_at=NOW,
            )
            .returning(cohorts.c.id)
        )  # fmt: skip
        cohort_id: int = added.scalar_one()
        for number in (*members, *gone):
            person = await connection.execute(
                insert(persons)
                .values(
                    project_id=project_id, uuid=UUID(int=number), properties={},
                    is_identified=False, created_at=NOW, version=1,
                )
                .returning(persons.c.id)
            )  # fmt: skip
            removed = 2 if number in gone else NEVER
            await connection.execute(
                insert(cohort_people).values(
                    cohort_id=cohort_id, person_id=person.scalar_one(), project_id=project_id,
                    added=1, removed=removed,
                )
            )  # fmt: skip
    return cohort_id


async def test_random_events_are_counted_like_a_reference_implementation(
    project_trends: ProjectTrends,
) -> None:
    random, zone = Random(7), ZoneInfo("America/New_York")
    project_trends.zone = zone.key
    start = datetime(2024, 11, 1, 4, tzinfo=UTC)  # clocks go back on the third
    for _ in range(400):
        at = start + timedelta(seconds=random.randrange(5 * 86_400 + 3_600))
        text = json.dumps({"v": random.choice("abc")}).encode()
        person = UUID(int=random.randrange(1, 9))
        one = Event(project_trends.project_id, uuid4(), "called", "d", person, at, at, text)
        project_trends.stored += [one] * random.randrange(1, 3)
    by_hand: dict[tuple[str, str], set[UUID]] = {}
    for row in project_trends.stored:
        key = (json.loads(row.properties)["v"], str(row.timestamp.astimezone(zone).date()))
        by_hand.setdefault(key, set()).add(row.uuid)

    result = await project_trends.trend(date_from="2024-11-01", date_to="2024-11-05", breakdown="v")

    found = {
        (entry["breakdown_value"], day): number
        for entry in result
        for day, number in zip(entry["days"], entry["data"], strict=True)
        if number
    }
    assert found == {key: float(len(uuids)) for key, uuids in by_hand.items()}
