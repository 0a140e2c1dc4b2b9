"""Random histories of a project, and questions about them to a real event store.

An oracle reads the history; the product reads what was stored of it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from fanion.db.engine import Records
from fanion.events.event import Event, GroupRow, Override, PersonRow
from fanion.events.storage.store import EventStore
from fanion.insights.calculation.service import Analysis
from fanion.insights.calculation.statements_service import Statements
from fanion.insights.kinds.service import Calculator, read_query
from fanion.insights.parsing.fields import Fields
from fanion.projects.model import Project
from tests.support.events_engine import next_project

# A Wednesday after the clocks of Berlin and New York have changed.
NOW = datetime(2024, 4, 3, 13, 45, 30, tzinfo=UTC)
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu")
NAMES = ("a", "b", "c", "x")
# More than the examples of one file.
KEPT_MAX = 32
PERSONS = tuple(UUID(int=number) for number in range(1, 5))
VISITOR = UUID(int=9)  # person of events without a profile: no person, unless it has joined one
_MERGED: tuple[dict[UUID, UUID], ...] = (
    {},
    {PERSONS[1]: PERSONS[0]},
    {PERSONS[2]: PERSONS[0]},
    {VISITOR: PERSONS[0]},
)


@dataclass(frozen=True)
class HistoryEvent:
    """An event of a history.

    Attributes:
        person: The id stored with the event.
    """

    uuid: UUID
    event: str
    distinct_id: str
    person: UUID
    at: datetime
    properties: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class History:
    """The history of a project.

    Attributes:
        happened: Events in order of arrival; the same one may occur twice.
        persons: Their present properties by id; merged ones have none.
        merged: The person that each old person, or visitor without a profile, became.
        groups: Their present properties, by the index of their type and their key.
    """

    zone: str = "UTC"
    happened: Sequence[HistoryEvent] = ()
    persons: Mapping[UUID, Mapping[str, Any]] = field(default_factory=dict)
    merged: Mapping[UUID, UUID] = field(default_factory=dict)
    groups: Mapping[tuple[int, str], Mapping[str, Any]] = field(default_factory=dict)

    @property
    def once(self) -> list[HistoryEvent]:
        """The events without repetitions, sorted by time and uuid."""
        by_uuid = {event.uuid: event for event in self.happened}
        return sorted(by_uuid.values(), key=lambda event: (event.at, event.uuid))

    def actor(self, event: HistoryEvent) -> UUID:
        """Return the person whose event it is now."""
        return self.merged.get(event.person, event.person)


def history_event(
    event: str, who: int, at: str, zone: str = "UTC", uuid: UUID | None = None, **properties: Any
) -> HistoryEvent:
    """Return an event of a worked example.

    Args:
        at: A time of the zone.
    """
    when = datetime.fromisoformat(at).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    return HistoryEvent(uuid or uuid4(), event, f"d{who}", UUID(int=who), when, properties)


@st.composite
def histories(draw: st.DrawFn, *, events_max: int = 14, days: int = 12) -> History:
    """Draw few persons, names, times and values, so that they often coincide."""
    zone = draw(st.sampled_from(ZONES))
    happened = draw(st.lists(_history_events(days), max_size=events_max))
    again = draw(st.lists(st.sampled_from(happened), max_size=2)) if happened else []
    merged = draw(st.sampled_from(_MERGED))
    persons = draw(st.fixed_dictionaries({}, optional={who: _persons() for who in PERSONS}))
    held = {who: values for who, values in persons.items() if who not in merged}
    keys = [(0, "acme"), (0, "corp"), (1, "acme")]
    groups = draw(st.fixed_dictionaries({}, optional={key: _groups() for key in keys}))
    return History(zone, [*happened, *again], held, merged, groups)


@st.composite
def _history_events(draw: st.DrawFn, days: int) -> HistoryEvent:
    who = draw(st.integers(1, len(PERSONS) + 1))
    minutes = draw(st.sampled_from((0, 1, 10, 29, 30, 31)))
    ago = timedelta(
        days=draw(st.integers(0, days)), hours=draw(st.integers(0, 23)), minutes=minutes
    )
    return HistoryEvent(
        draw(st.uuids(version=4)),
        draw(st.sampled_from(NAMES)),
        f"d{who}",
        (*PERSONS, VISITOR)[who - 1],
        NOW.replace(minute=0, second=0) - ago,
        draw(_properties()),
    )


def _persons() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={"plan": st.sampled_from(("free", "pro", ""))})


def _groups() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {},
        optional={
            "plan": st.sampled_from(("free", "pro", "")),
            "size": st.sampled_from((1, 20, 2.5, "many")),
        },
    )


def _properties() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {},
        optional={
            "plan": st.sampled_from(("free", "pro", "", None, 0, True)),
            "n": st.sampled_from((1, 2.5, -3, "4", "many", None)),
            "$group_0": st.sampled_from(("acme", "corp", "")),
            "$session_id": st.sampled_from(("s1", "s2", "")),
            "$current_url": st.sampled_from(
                ("https://x.io/", "https://x.io/docs/", "https://x.io/docs")
            ),
        },
    )


def results_of(answer: Any) -> Any:
    """Return the entries of an answer, without the numbers of values that a breakdown has."""
    is_broken_down = isinstance(answer, dict) and "breakdown_values" in answer
    return answer["results"] if is_broken_down else answer


@dataclass(frozen=True)
class Analyst:
    """An analyst who stores histories, each in its own project, and asks about them."""

    records: Records
    events: EventStore
    _kept: dict[int, tuple[History, Project]] = field(default_factory=dict)

    @property
    def analysis(self) -> Analysis:
        """Return an analysis that joins copies of events by their key in every other project.

        All copies of a history share their key, so both ways must agree with the oracles.
        """
        statements = Statements(
            self.events, self.events.people, copies_share_keys=lambda project: project % 2 == 0
        )
        return Analysis(self.records, self.events, statements)

    async def store(self, history: History) -> Project:
        """Store a history, once per file if the file asks about it again: questions only read."""
        kept = self._kept.pop(id(history), None) or (history, await self.store_anew(history))
        self._kept[id(history)] = kept
        if len(self._kept) > KEPT_MAX:
            del self._kept[next(iter(self._kept))]
        return kept[1]

    async def store_anew(self, history: History) -> Project:
        """Store a history in a new project, for a test that adds to it."""
        project_id = next_project()
        half = len(history.happened) // 2
        for part in (history.happened[:half], history.happened[half:]):  # repeats are in two parts
            if part:
                await self.add_events(project_id, part)
        await self.events.mirror_persons(
            [
                PersonRow(project_id, who, json.dumps(values).encode(), NOW, 1)
                for who, values in history.persons.items()
            ]
        )
        await self.events.mirror_groups(
            [
                GroupRow(project_id, index, key, json.dumps(values).encode(), NOW, 1)
                for (index, key), values in history.groups.items()
            ]
        )
        await self.events.override_persons(
            [Override(project_id, old, new, 1) for old, new in history.merged.items()]
        )
        return Project(project_id, uuid4(), uuid4(), "p", "phc_x", history.zone, NOW)

    async def add_events(self, project_id: int, happened: Sequence[HistoryEvent]) -> None:
        events = [
            Event(
                project_id,
                event.uuid,
                event.event,
                event.distinct_id,
                event.person,
                event.at,
                event.at,
                json.dumps(event.properties).encode(),
            )
            for event in happened
        ]
        await self.events.insert(self.events.encoder.batch(events), uuid4().hex)

    async def ask(self, project: Project, now: datetime = NOW, **filters: Any) -> Any:
        """Return the answer to a question given by `filters`.

        Raises:
            Invalid: The question is not valid.
        """
        return results_of(await self.ask_with_values(project, now, **filters))

    async def ask_with_values(self, project: Project, now: datetime = NOW, **filters: Any) -> Any:
        """Return what `ask` does, and with a breakdown the numbers of its values beside it."""
        query = read_query(Fields(filters))
        return await Calculator(self.analysis).result(project, query, now)

    async def answer(self, history: History, now: datetime = NOW, **filters: Any) -> Any:
        return await self.ask(await self.store(history), now, **filters)
