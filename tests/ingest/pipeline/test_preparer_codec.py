"""A batch prepared in another process equals one prepared in this process."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanion.accept_log.port import Envelope, LogEntry
from fanion.events.event import NO_PERSON
from fanion.events.storage.encoder import Block
from fanion.events.storage.native_encoder import NativeEncoder
from fanion.groups.model import GROUP_TYPES_MAX, GroupIdentify
from fanion.ingest.event import Drop, PreparedEvent
from fanion.ingest.pipeline import preparer_codec
from fanion.ingest.pipeline.batch import PreparedBatch, prepare_batch
from fanion.ingest.pipeline.preparer_codec import decode_response, encode_request, respond
from fanion.ingest.pipeline.resolve import (
    ProjectState,
    Resolution,
    Resolved,
    properties_by_name,
    stored_event,
)
from fanion.persons.merge import PersonState, person_uuid
from fanion.projects.model import IngestionSettings
from tests.support.examples import examples

NOW = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
RULES = IngestionSettings(
    anonymize_ips=True, dropped_user_agents=("bot",), removed_properties=("secret",)
)
TYPES = {"org": 0, "team": 1}

Item = Mapping[str, Any]


def entry(number: int, *items: Item, project_id: int = 1) -> LogEntry:
    body = msgspec.json.encode({"batch": items})
    at = NOW + timedelta(seconds=number)
    return LogEntry(number, Envelope(project_id, at, "192.0.2.1", "curl", None, body))


def prepared_by_process(
    entries: Sequence[LogEntry], types: Mapping[int, Mapping[str, int]] | None = None
) -> PreparedBatch | None:
    projects = {log_entry.envelope.project_id for log_entry in entries}
    given = dict.fromkeys(projects, TYPES) if types is None else types
    request = encode_request(entries, dict.fromkeys(projects, RULES), given)
    response = respond(request, None)
    return decode_response(entries, response) if response else None


def prepared_here(entries: Sequence[LogEntry]) -> PreparedBatch:
    return prepare_batch(entries, lambda _: RULES)


def resolved(batch: PreparedBatch, known: ProjectState) -> tuple[list[Any], Resolved, Resolution]:
    brought = None if batch.preparer_result is None else batch.preparer_result.projects[1]
    resolution = Resolution(1, batch.arrived[1], known, brought)
    persons = (
        [event.person_id for event in resolution.events()]
        if brought is None
        else list(resolution.persons())
    )
    return persons, resolution.outcome(), resolution


SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False)
VALUES = st.recursive(
    SCALARS | st.sampled_from(["a", "bot", "2026-01-02T03:04:05Z", "ü\0"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=4,
)
ITEMS = st.fixed_dictionaries(
    {"event": st.sampled_from(["paid", "$identify", "$create_alias", "$groupidentify", "", None])},
    optional={
        "distinct_id": st.sampled_from(["ann", "bob", "visitor", "", 7]),
        "uuid": st.sampled_from(["0190d0a6-0000-7000-8000-0000000000ab", None, ""]),
        "timestamp": st.sampled_from(
            ["2026-01-02T03:04:05.678901Z", "1850-01-01", "9999-01-01", "", 1.5e12]
        ),
        "$set": st.dictionaries(st.sampled_from(["plan", "secret"]), VALUES, max_size=2),
        "properties": st.dictionaries(
            st.sampled_from(
                [
                    *("$set_once", "$unset", "$anon_distinct_id", "alias", "secret", "plan"),
                    *("$browser", "$process_person_profile", "$raw_user_agent", "price", "time"),
                ]
            ),
            VALUES,
            max_size=4,
        ),
    },
)


@settings(max_examples=examples(150))
@given(st.lists(st.lists(ITEMS, min_size=1, max_size=4), min_size=1, max_size=4))
def test_the_process_prepares_what_would_be_prepared_here(batches: list[list[Item]]) -> None:
    entries = [entry(number, *batch) for number, batch in enumerate(batches, 1)]

    actual, expected = prepared_by_process(entries), prepared_here(entries)

    assert actual is not None
    assert without_properties(actual) == without_properties(expected)
    assert (actual.first, actual.last, actual.events) == (
        expected.first,
        expected.last,
        expected.events,
    )
    assert (actual.named, actual.dropped, actual.tally) == (
        expected.named,
        expected.dropped,
        expected.tally,
    )
    ann = PersonState(5, person_uuid(1, "ann"), {"plan": "old"}, False, NOW, 3)
    known, same = (ProjectState({"ann": msgspec_copy(ann)}, TYPES, {}) for _ in range(2))
    persons, outcome, _ = resolved(actual, known)
    expected_persons, expected_outcome, _ = resolved(expected, same)
    assert persons == expected_persons
    assert comparable(outcome) == comparable(expected_outcome)
    assert rows(actual, persons) == rows_of_events(expected, persons)


def without_properties(batch: PreparedBatch) -> Mapping[int, list[Any]]:
    return {
        project_id: [
            (
                msgspec.structs.replace(received.prepared, properties={}),
                received.received_at,
                received.is_named,
            )
            for received in arrived
        ]
        for project_id, arrived in batch.arrived.items()
    }


def msgspec_copy(person: PersonState) -> PersonState:
    return PersonState(
        person.id,
        person.uuid,
        dict(person.properties),
        person.is_identified,
        person.created_at,
        person.version,
    )


def comparable(outcome: Resolved) -> Any:
    """Return the comparable parts of an outcome; persons are compared by identity."""
    changes = outcome.persons
    return (
        [
            (person.uuid, person.properties, person.version)
            for person in (*changes.created, *changes.updated)
        ],
        {name: person.uuid for name, person in changes.attached.items()},
        [(merge.person.uuid, merge.into.uuid) for merge in changes.merged],
        changes.overrides,
        {name: owner.uuid for name, owner in outcome.owners.items()},
        outcome.names,
        {name: sorted(names) for name, names in outcome.properties.carried.items()},
    )


def rows(batch: PreparedBatch, persons: Sequence[UUID]) -> list[Block]:
    assert batch.preparer_result is not None
    return [draft.block(persons) for draft in batch.preparer_result.drafts]


def rows_of_events(batch: PreparedBatch, persons: Sequence[UUID]) -> list[Block]:
    events = [stored_event(1, received, NO_PERSON, TYPES) for received in batch.arrived[1]]
    return [draft.block(persons) for draft in NativeEncoder().event_drafts(events)]


def test_groups_are_written_when_their_types_are_known() -> None:
    groups = {"event": "paid", "distinct_id": "ann", "properties": {"$groups": {"team": "t1"}}}
    made = {
        "event": "$groupidentify",
        "distinct_id": "ann",
        "properties": {"$group_type": "org", "$group_key": "o1", "$group_set": {"plan": "pro"}},
    }
    entries = [entry(1, groups, made)]

    batch = prepared_by_process(entries)

    assert batch is not None
    [first, second] = batch.arrived[1]
    assert first.prepared.groups == {"team": "t1"}
    expected = GroupIdentify("org", "o1", {"plan": "pro"}, second.prepared.timestamp)
    assert second.prepared.group_identify == expected
    assert any(b'"$group_1":"t1"' in block.data for block in rows(batch, [NO_PERSON] * 2))
    assert resolved(batch, ProjectState({}, TYPES, {}))[2].is_valid


@pytest.mark.parametrize("types", [{}, {1: {"org": 0}}, {2: TYPES}])
def test_a_batch_that_names_other_group_types_is_not_prepared(
    types: Mapping[int, Mapping[str, int]],
) -> None:
    groups = {"event": "paid", "distinct_id": "ann", "properties": {"$groups": {"team": "t1"}}}

    assert prepared_by_process([entry(1, groups)], types) is None


def test_it_does_not_hold_when_the_types_were_others() -> None:
    batch = prepared_by_process([entry(1, {"event": "paid", "distinct_id": "ann"})])

    assert batch is not None
    assert not resolved(batch, ProjectState({}, {"org": 1, "team": 0}, {}))[2].is_valid
    assert resolved(batch, ProjectState({}, {**TYPES, "more": 2}, {}))[2].is_valid


def test_events_of_several_projects_get_their_own_persons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are cut and written in the order of arrival."""
    monkeypatch.setattr(preparer_codec, "PART_ROWS", 3)
    monkeypatch.setattr(preparer_codec, "BLOCK_ROWS_MAX", 4)
    entries = [
        entry(
            number,
            *[
                {"event": f"e{number}", "distinct_id": f"u{place}", "properties": {"n": place}}
                for place in range(2)
            ],
            project_id=number % 3,
        )
        for number in range(1, 8)
    ]

    batch = prepared_by_process(entries)

    assert batch is not None
    assert batch.preparer_result is not None
    assert list(batch.preparer_result.requests) == [(number % 3, 2) for number in range(1, 8)]
    assert len(batch.preparer_result.drafts) > 1
    assert sorted(place for draft in batch.preparer_result.drafts for place in draft.order) == list(
        range(14)
    )
    for draft in batch.preparer_result.drafts:
        assert b"".join(b"\x02e%d" % (1 + place // 2) for place in draft.order) in draft.data


def test_blocks_are_of_one_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparer_codec, "PART_ROWS", 5)
    monkeypatch.setattr(preparer_codec, "BLOCK_ROWS_MAX", 40)
    items = [{"event": "paid", "distinct_id": "ann"}] * 5

    batch = prepared_by_process([entry(number, *items) for number in range(1, 19)])

    assert batch is not None
    assert batch.preparer_result is not None
    assert [len(draft.order) for draft in batch.preparer_result.drafts] == [30, 30, 30]


def test_a_first_request_unlike_the_others_makes_no_small_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(preparer_codec, "PART_ROWS", 5)
    monkeypatch.setattr(preparer_codec, "BLOCK_ROWS_MAX", 40)
    small = {"event": "a", "distinct_id": "b"}
    large = {**small, "properties": {"text": "x" * 1000}}

    batch = prepared_by_process([entry(1, small), *[entry(n, *[large] * 5) for n in range(2, 20)]])

    assert batch is not None
    assert batch.preparer_result is not None
    sizes = [len(draft.order) for draft in batch.preparer_result.drafts]
    assert len(sizes) == 3
    assert (sum(sizes), min(sizes) >= 20, max(sizes) <= 40) == (91, True, True)


def test_a_project_with_all_its_group_types_may_name_more() -> None:
    """Further names never become types."""
    full = {f"type{number}": number for number in range(GROUP_TYPES_MAX)}
    groups = {"$groups": {"type1": "t1", "more": "m"}}
    item = {"event": "paid", "distinct_id": "ann", "properties": groups}

    batch = prepared_by_process([entry(1, item)], {1: full})

    assert batch is not None
    [block] = rows(batch, [NO_PERSON])
    assert b'"$group_1":"t1"' in block.data
    assert resolved(batch, ProjectState({}, full, {}))[2].is_valid


def test_samples_stand_for_all_occurrences() -> None:
    """A type is found in a later event if the first one did not show it."""
    items = [
        {"event": "paid", "distinct_id": "ann", "properties": {"plan": None, "ok": True}},
        {"event": "seen", "distinct_id": "ann", "properties": {"other": "x"}},
        *[{"event": "paid", "distinct_id": "ann", "properties": {"price": 1}}] * 6,
        *[{"event": "paid", "distinct_id": "ann", "properties": {"plan": "pro"}}] * 9,
    ]
    batch, expected = prepared_by_process([entry(1, *items)]), prepared_here([entry(1, *items)])

    assert batch is not None
    assert batch.preparer_result is not None
    seen = batch.preparer_result.projects[1].seen
    every = {
        name: set().union(*occurrences)
        for name, occurrences in properties_by_name(expected.arrived[1]).items()
    }
    assert {name: set(properties) for name, [properties] in seen.items()} == every
    assert seen["paid"][0] == {"plan": "pro", "ok": None, "price": 1}


def test_an_envelope_that_cannot_be_prepared_raises() -> None:
    envelope = Envelope(1, NOW, "", "", None, b'[{"event": ')

    with pytest.raises(Exception, match="Malformed"):
        prepared_by_process([LogEntry(1, envelope)])


def test_numbers_that_cannot_be_encoded_raise() -> None:
    huge = {"event": "$set", "distinct_id": "ann", "$set": {"n": 2**80}}

    with pytest.raises(OverflowError):
        prepared_by_process([entry(1, huge)])
    assert prepared_here([entry(1, huge)]).events == 1


def test_an_entry_of_which_nothing_arrives_is_counted() -> None:
    batch = prepared_by_process([entry(1, {"event": "", "distinct_id": "ann"})])

    assert batch is not None
    assert (batch.events, dict(batch.dropped)) == (0, {Drop.NO_NAME: 1})
    assert batch.arrived == {1: []}


@pytest.mark.parametrize(
    "item",
    [
        {"event": "paid", "distinct_id": "ann"},
        {"event": "$identify", "distinct_id": "ann", "properties": {"$anon_distinct_id": "bob"}},
        {"event": "a", "distinct_id": "ann", "properties": {"$process_person_profile": False}},
        {"event": "a", "distinct_id": "ann", "properties": {"$groups": {"org": "o"}}},
        {"event": "a", "distinct_id": "ann", "$set": {"plan": "pro"}},
        {"event": "a", "distinct_id": "ann", "timestamp": "yesterday"},
    ],
)
def test_an_event_is_sent_with_all_but_its_properties(item: Item) -> None:
    [event] = prepared_here([entry(1, item)]).arrived[1]
    row: Any = preparer_codec._event_fields(event.prepared)

    assert PreparedEvent(*row) == msgspec.structs.replace(event.prepared, properties={})
