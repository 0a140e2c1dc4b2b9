"""What cannot be written as a row of the event store."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from fanion.events.event import Event, EventRejected, Override, PersonRow
from fanion.events.rows import encode, event_blocks

NOW, ONE, FITS_NOT = datetime(2026, 1, 2, tzinfo=UTC), UUID(int=1), 2**64


def test_a_number_that_does_not_fit_its_column_is_refused() -> None:
    event = Event(FITS_NOT, ONE, "paid", "ann", ONE, NOW, NOW, b"{}")
    person = PersonRow(1, ONE, b"{}", NOW, FITS_NOT)
    override = Override(1, ONE, ONE, FITS_NOT)

    for rows in (([event],), ((), [person]), ((), (), [override])):
        with pytest.raises(EventRejected, match="does not fit"):
            encode(*rows)


@pytest.mark.parametrize(
    ("events", "count", "sizes"),
    [
        (90, 90, [30, 30, 30]),
        (90, 0, [40, 40, 10]),
        (41, 41, [21, 20]),
        (40, 40, [40]),
        (1, 1, [1]),
        (0, 0, []),
        (81, 90, [30, 30, 21]),  # a count that is wrong loses nothing
    ],
)
def test_blocks_are_of_one_size_when_it_is_known_how_many_events_there_are(
    events: int, count: int, sizes: list[int]
) -> None:
    event = Event(1, ONE, "paid", "ann", ONE, NOW, NOW, b"{}")
    [row] = event_blocks([event])

    blocks = list(event_blocks([event] * events, count, rows_max=40))

    assert [len(block) / len(row) for block in blocks] == sizes
