"""Life cycles of random histories, against a model in plain Python."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from fanion.events.event import PersonRow
from tests.insights.lifecycle.oracle import STATUSES, lifecycle
from tests.insights.retention.oracle import starts
from tests.support.asked_actors import actors
from tests.support.examples import examples
from tests.support.histories import NOW, PERSONS, Analyst, History, HistoryEvent, histories


def group(event: HistoryEvent) -> Any:
    return event.properties.get("$group_0") or None


_TIMES = st.integers(0, 14 * 24).map(lambda hours: NOW - timedelta(hours=hours))


# It takes seconds: each example is stored and asked about.
@settings(max_examples=examples(25))
@given(histories(), st.dictionaries(st.sampled_from(PERSONS), _TIMES), st.data())
async def test_every_option_counts_as_the_model_does(
    analyst: Analyst, history: History, created: dict[UUID, datetime], data: st.DataObject
) -> None:
    interval = data.draw(st.sampled_from(("day", "week", "month")), "interval")
    event = data.draw(st.sampled_from(("a", None)), "event")
    of_groups = data.draw(st.booleans(), "groups")
    number = {"day": 6, "week": 2, "month": 1}[interval]
    bounds = starts(history.zone, interval.capitalize(), number + 1, NOW)
    first = bounds[1].astimezone(ZoneInfo(history.zone)).date().isoformat()
    question: dict[str, Any] = {"insight": "LIFECYCLE", "interval": interval, "date_from": first}
    question["events"] = [{"id": event, "type": "events"}]
    if of_groups:
        question["aggregation_group_type_index"] = 0

    project = await analyst.store_anew(history)
    known = {who: at for who, at in created.items() if who not in history.merged}
    known |= {who: NOW for who in history.persons if who not in known}
    rows = [PersonRow(project.id, who, b"{}", at, 2) for who, at in known.items()]
    await analyst.events.mirror_persons(rows)
    entries = await analyst.ask(project, **question)

    expected = lifecycle(
        history,
        [*bounds[:-1], _tomorrow(history.zone)],
        lambda one: event in (None, one.event),
        group if of_groups else history.actor,
        {} if of_groups else known,
    )
    assert {entry["status"]: entry["data"] for entry in entries} == {
        status: [(-1 if status == "dormant" else 1) * len(actor) for actor in expected[status]]
        for status in STATUSES
    }
    place = data.draw(st.integers(0, len(bounds) - 3), "interval behind which to look")
    for entry in entries:
        behind = expected[entry["status"]][place]
        result = await actors(
            analyst, project, **question, **entry["persons_urls"][place]["filter"]
        )
        assert len(result) == len(behind)
        assert {who for who in behind if isinstance(who, UUID)} <= {who for who, _ in result}


def _tomorrow(zone: str) -> datetime:
    day = NOW.astimezone(ZoneInfo(zone)).date() + timedelta(days=1)
    return datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)).astimezone(UTC)
