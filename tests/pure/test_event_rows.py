"""What cannot be written as a row of the event store."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from fanion.events.event import Event, EventRejected, Override, PersonRow
from fanion.events.rows import encode

NOW, ONE, FITS_NOT = datetime(2026, 1, 2, tzinfo=UTC), UUID(int=1), 2**64


def test_a_number_that_does_not_fit_its_column_is_refused() -> None:
    event = Event(FITS_NOT, ONE, "paid", "ann", ONE, NOW, NOW, b"{}")
    person = PersonRow(1, ONE, b"{}", NOW, FITS_NOT)
    override = Override(1, ONE, ONE, FITS_NOT)

    for rows in (([event],), ((), [person]), ((), (), [override])):
        with pytest.raises(EventRejected, match="does not fit"):
            encode(*rows)
