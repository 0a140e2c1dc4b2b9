"""Events, persons and overrides as they are inserted: the rows of each block."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
import pytest
from msgspec.structs import replace

from fanion.events.event import Event, EventRejected, Override, PersonRow
from fanion.events.storage.encoder import EventEncoder, TextEncoder
from fanion.events.storage.native_encoder import NativeEncoder

NOW, ONE, FITS_NOT = datetime(2026, 1, 2, tzinfo=UTC), UUID(int=1), 2**64


@pytest.mark.parametrize("encoder", [NativeEncoder(), TextEncoder()])
def test_a_number_that_does_not_fit_its_column_is_refused(encoder: EventEncoder) -> None:
    event = Event(FITS_NOT, ONE, "paid", "ann", ONE, NOW, NOW, b"{}")
    person = PersonRow(1, ONE, b"{}", NOW, FITS_NOT)
    override = Override(1, ONE, ONE, FITS_NOT)

    for rows in (([event],), ((), [person]), ((), (), [override])):
        with pytest.raises(EventRejected, match="does not fit"):
            encoder.batch(*rows)


@pytest.mark.parametrize(
    ("events", "count", "sizes"),
    [
        (90, 90, [30, 30, 30]),
        (90, 0, [40, 40, 10]),
        (41, 41, [21, 20]),
        (40, 40, [40]),
        (1, 1, [1]),
        (0, 0, []),
        (81, 90, [30, 30, 21]),  # a wrong count loses nothing
    ],
)
def test_blocks_are_of_one_size_when_it_is_known_how_many_events_there_are(
    events: int, count: int, sizes: list[int]
) -> None:
    event = Event(1, ONE, "paid", "ann", ONE, NOW, NOW, b"{}")

    drafts = list(NativeEncoder(rows_max=40).event_drafts([event] * events, count))

    assert [len(draft.order) for draft in drafts] == sizes


def event_with(values: Mapping[str, Any]) -> Event:
    return Event(1, ONE, "paid", "ann", ONE, NOW, NOW, msgspec.json.encode(values), values)


def test_events_whose_columns_the_engine_makes_come_last() -> None:
    odd = {"odd": [{"b": 1}]}
    events = [event_with(values) for values in ({"a": 1}, odd, {"b": 1}, {"a": 2}, odd, {"a": 3})]

    drafts = list(NativeEncoder(rows_max=3).event_drafts(events))

    assert [draft.order for draft in drafts] == [[0, 2], [3, 5], [1, 4]]
    assert [draft.columns[-1] for draft in drafts] == ["attributes", "attributes", "shallow"]


def test_a_block_has_few_bytes_or_a_single_event() -> None:
    sizes = [10, 10, 100, 10, 10, 10]
    events = [event_with({"text": "x" * size}) for size in sizes]

    drafts = list(NativeEncoder(bytes_max=60).event_drafts(events))

    assert [draft.order for draft in drafts] == [[0, 1], [2], [3, 4], [5]]


def test_each_event_of_a_block_gets_its_own_person() -> None:
    events = [event_with(values) for values in ({"a": 1}, {"b": 1}, {"a": 2})]
    [draft] = NativeEncoder().event_drafts(events)
    persons = [UUID(int=number) for number in (1, 2, 3)]
    named = [replace(e, person_id=p) for e, p in zip(events, persons, strict=True)]

    [block] = NativeEncoder().event_blocks(named)

    assert draft.order == [0, 2, 1]
    assert draft.block(persons) == block
    assert draft.block(persons[::-1]) != block
