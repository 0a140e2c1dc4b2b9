"""Tests of how long the transaction of a batch may keep other writers waiting."""

import pytest

from fanion.accept_log.port import Envelope, LogEntry
from fanion.ingest.pipeline.batch import Budget, divide_entry, entries_within
from fanion.ingest.pipeline.transaction_limit import (
    FIRST_OBJECTS,
    OBJECTS_MAX,
    OBJECTS_MIN,
    TRANSACTION_S,
    TransactionLimit,
    transaction_limit,
)
from tests.support.management import NOW


def entry(objects: int, number: int = 1) -> LogEntry:
    body = b"[" + b",".join([b"{}"] * objects) + b"]"
    return LogEntry(number, Envelope(1, NOW, "192.0.2.1", "", NOW, body))


@pytest.mark.parametrize(
    ("seconds", "stored", "next_objects"),
    [
        pytest.param(2 * TRANSACTION_S, FIRST_OBJECTS, FIRST_OBJECTS // 2, id="too slow"),
        pytest.param(4 * TRANSACTION_S, FIRST_OBJECTS, FIRST_OBJECTS // 4, id="much too slow"),
        pytest.param(99 * TRANSACTION_S, FIRST_OBJECTS, OBJECTS_MIN, id="a disk that stalls"),
        pytest.param(2 * TRANSACTION_S, 10 * FIRST_OBJECTS, FIRST_OBJECTS, id="read before"),
        pytest.param(TRANSACTION_S / 4, FIRST_OBJECTS, 2 * FIRST_OBJECTS, id="fast"),
        pytest.param(TRANSACTION_S, FIRST_OBJECTS, FIRST_OBJECTS, id="as long as allowed"),
        pytest.param(TRANSACTION_S / 4, 3, FIRST_OBJECTS, id="fast because it was small"),
    ],
)
def test_the_next_transaction_stores_what_fits_into_the_time(
    seconds: float, stored: int, next_objects: int
) -> None:
    limit = transaction_limit(is_shared=False)

    limit.adapt(seconds, [entry(stored)])

    assert limit.objects == next_objects


def test_fast_transactions_grow_to_a_whole_batch_and_no_further() -> None:
    limit = transaction_limit(is_shared=False)

    for _ in range(10):
        limit.adapt(TRANSACTION_S / 4, [entry(limit.objects)])

    assert limit.objects == OBJECTS_MAX
    assert limit.within(Budget()) == Budget()


def test_batches_and_pieces_of_an_envelope_have_as_many_objects_as_fit() -> None:
    budget = TransactionLimit(is_fixed=False, objects=100).within(Budget())

    assert len(entries_within([entry(30, n) for n in range(9)], budget)) == 3
    assert [piece.start for piece in divide_entry(entry(250), 0, budget)] == [0, 99, 198]


def test_long_texts_do_not_make_a_transaction_longer() -> None:
    budget = transaction_limit(is_shared=False).within(Budget())
    text = b'[{"event":"' + b"x" * 10_000_000 + b'"}]'

    assert not budget.exceeds([LogEntry(1, Envelope(1, NOW, "", "", NOW, text))])


def test_writers_of_postgresql_do_not_wait_for_one_another() -> None:
    limit = transaction_limit(is_shared=True)

    limit.adapt(99 * TRANSACTION_S, [entry(5)])

    assert limit.within(Budget()) == Budget()
