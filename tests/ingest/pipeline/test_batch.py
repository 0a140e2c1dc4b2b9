"""Batches of envelopes: which events they yield, and which repetitions they leave out."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from fanion.accept_log.port import Envelope, LogEntry
from fanion.events.event import Event
from fanion.ingest.event import Drop
from fanion.ingest.pipeline.batch import PreparedBatch, prepare_batch, without_duplicates
from fanion.ingest.pipeline.resolve import ProjectState, Resolution, Resolved, distinct_ids
from fanion.persons.merge import person_uuid
from fanion.projects.model import IngestionSettings

NOW = datetime(2026, 1, 2, tzinfo=UTC)
BEFORE = NOW - timedelta(minutes=5)
FIRST, SECOND = UUID(int=1, version=4), UUID(int=2, version=4)
NOTHING = ProjectState({}, {}, {})


def entry(number: int, *items: dict[str, Any], project_id: int = 1) -> LogEntry:
    body = msgspec.json.encode({"batch": items})
    return LogEntry(number, Envelope(project_id, NOW, "", "", None, body))


def event(name: str = "paid", uuid: UUID | None = None, **more: Any) -> dict[str, Any]:
    named = {} if uuid is None else {"uuid": str(uuid)}
    return {"event": name, "distinct_id": "ann", **named, **more}


def batch_of(*entries: LogEntry) -> PreparedBatch:
    rules = IngestionSettings()
    return prepare_batch(entries, lambda _: rules)


def resolve(batch: PreparedBatch, known: ProjectState) -> tuple[list[Event], Resolved]:
    resolution = Resolution(1, batch.arrived[1], known)
    return list(resolution.events()), resolution.outcome()


def names(batch: PreparedBatch, project_id: int = 1) -> list[str]:
    return [event.prepared.name for event in batch.arrived[project_id]]


def test_items_keep_their_order_within_their_project() -> None:
    batch = batch_of(
        entry(1, event("a"), event("b")), entry(2, event("x"), project_id=2), entry(3, event("c"))
    )

    assert names(batch) == ["a", "b", "c"]
    assert names(batch, 2) == ["x"]
    assert (batch.first, batch.last, batch.events) == (1, 3, 4)


def test_a_batch_names_its_distinct_ids_once() -> None:
    batch = batch_of(
        entry(
            1,
            event(distinct_id="u2"),
            event("$identify", distinct_id="u1", properties={"$anon_distinct_id": "anon"}),
            event(distinct_id="anon"),
            event(distinct_id="u2"),
        )
    )

    assert distinct_ids(batch.arrived[1]) == ["u2", "u1", "anon"]


def test_a_drop_keeps_the_rest_and_is_counted() -> None:
    batch = batch_of(entry(1, event("a"), {"event": "b"}, {"distinct_id": "ann"}, event("c")))

    assert names(batch) == ["a", "c"]
    assert batch.dropped == {Drop.NO_DISTINCT_ID: 1, Drop.NO_NAME: 1}


def test_a_repeated_batch_gives_the_same_ids() -> None:
    entries = [entry(7, event("a"), event("b"))]

    first, again = batch_of(*entries), batch_of(*entries)

    assert [arrived.prepared.uuid for arrived in first.arrived[1]] == [
        arrived.prepared.uuid for arrived in again.arrived[1]
    ]


def test_of_an_id_that_is_said_twice_the_first_counts() -> None:
    batch = batch_of(entry(1, event("a", FIRST)), entry(2, event("b", FIRST), event("c", SECOND)))

    fresh = without_duplicates(batch, {})

    assert names(fresh) == ["a", "c"]
    assert fresh.dropped == {Drop.DUPLICATE: 1}


def test_what_is_stored_is_left_out() -> None:
    batch = batch_of(entry(1, event("a", FIRST), event("b", SECOND), event("c")))

    fresh = without_duplicates(batch, {1: {FIRST: BEFORE}})

    assert names(fresh) == ["b", "c"]


def test_what_an_attempt_at_this_batch_has_stored_is_no_repetition() -> None:
    batch = batch_of(entry(1, event("a", FIRST)), entry(2, event("b", FIRST)))

    fresh = without_duplicates(batch, {1: {FIRST: NOW}})

    assert names(fresh) == ["a"]


def test_the_same_id_in_two_projects_is_two_events() -> None:
    batch = batch_of(entry(1, event("a", FIRST)), entry(2, event("b", FIRST), project_id=2))

    assert without_duplicates(batch, {2: {FIRST: BEFORE}}).arrived[1] == batch.arrived[1]


def test_a_batch_without_duplicates_is_itself() -> None:
    batch = batch_of(entry(1, event("a", FIRST), event("b")))

    assert without_duplicates(batch, {1: {SECOND: BEFORE}}) is batch


def test_groups_become_columns_and_new_types_take_the_next_index() -> None:
    grouped = event(properties={"$groups": {"company": "acme", "team": "a"}})
    batch = batch_of(entry(1, grouped))

    resolution = Resolution(1, batch.arrived[1], ProjectState({}, {"company": 0}, {}))
    events = list(resolution.events())

    assert resolution.new_types == {"team": 1}
    properties = msgspec.json.decode(events[0].properties)
    assert (properties["$group_0"], properties["$group_1"]) == ("acme", "a")


def test_a_group_described_twice_is_written_once() -> None:
    described = [
        event(
            "$groupidentify",
            properties={"$group_type": "company", "$group_key": "acme", "$group_set": set_},
        )
        for set_ in ({"plan": "free", "size": 3}, {"plan": "pro"})
    ]

    _, resolved = resolve(batch_of(entry(1, *described)), NOTHING)

    ((place, group),) = resolved.groups.items()
    assert place == (0, "acme")
    assert group.properties == {"plan": "pro", "size": 3}


def test_events_carry_the_person_that_they_made() -> None:
    batch = batch_of(
        entry(1, event("a"), event("b", properties={"$process_person_profile": False})),
        entry(2, {**event("c"), "distinct_id": "x", "properties": {
            "$process_person_profile": False}}),
    )  # fmt: skip

    events, resolved = resolve(batch, NOTHING)

    ann = person_uuid(1, "ann")
    assert [stored.person_id for stored in events] == [ann, ann, person_uuid(1, "x")]
    assert resolved.names == {"a", "b", "c"}
    assert list(resolved.owners) == ["ann"]
