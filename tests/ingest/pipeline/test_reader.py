"""Tests of how much of the processor ingestion leaves to requests."""

import pytest

from fanion.ingest.pipeline.reader import (
    BATCH_BYTES_MAX,
    BUSY_BATCH_BYTES_MAX,
    BUSY_ENVELOPES,
    BUSY_LINGER_S,
    LAG_MAX_S,
    LINGER_S,
    REST_FACTOR,
    SHARED_LINGER_S_MAX,
    Throttle,
    linger_seconds,
)


@pytest.mark.parametrize(
    ("answered", "run_s", "lag_s", "rest_s"),
    [
        (999, 0.5, 1.0, 0.0),
        (1000, 0.5, 1.0, REST_FACTOR * 0.5),
        (50_000, 0.1, 1.0, REST_FACTOR * 0.1),
        (50_000, 0.5, LAG_MAX_S - 0.25, 0.25),
        (50_000, 0.5, LAG_MAX_S, 0.0),
        (50_000, 0.5, LAG_MAX_S + 60, 0.0),
    ],
)
def test_ingestion_rests_while_many_ask_and_nothing_is_old(
    answered: int, run_s: float, lag_s: float, rest_s: float
) -> None:
    throttling = Throttle(answered=0, at=100.0)

    assert throttling.rest_s(answered, 101.0, run_s, lag_s) == pytest.approx(rest_s)


def test_the_rate_is_that_of_the_time_since_the_batch_before() -> None:
    throttling = Throttle(answered=0, at=100.0)

    assert throttling.rest_s(5_000, 101.0, 0.5, 1.0) > 0
    assert throttling.rest_s(5_500, 102.0, 0.5, 1.0) == 0
    assert throttling.rest_s(5_500, 102.0, 0.5, 1.0) == 0


def test_batches_are_small_while_many_ask() -> None:
    throttling = Throttle(answered=0, at=100.0)
    assert throttling.batch_bytes_max == BATCH_BYTES_MAX

    throttling.rest_s(5_000, 101.0, 0.5, LAG_MAX_S)
    assert throttling.batch_bytes_max == BUSY_BATCH_BYTES_MAX

    throttling.rest_s(5_100, 102.0, 0.5, LAG_MAX_S)
    assert throttling.batch_bytes_max == BATCH_BYTES_MAX


@pytest.mark.parametrize(
    ("entries", "servers", "linger_s"),
    [
        (1, 1, LINGER_S),
        (BUSY_ENVELOPES - 1, 4, 4 * LINGER_S),
        (BUSY_ENVELOPES, 1, BUSY_LINGER_S),
        (BUSY_ENVELOPES, 4, BUSY_LINGER_S),
        (BUSY_ENVELOPES, 8, 8 * LINGER_S),
        (1, 100, SHARED_LINGER_S_MAX),
    ],
)
def test_servers_that_share_an_event_store_insert_as_often_as_one(
    entries: int, servers: float, linger_s: float
) -> None:
    assert linger_seconds(entries, servers) == pytest.approx(linger_s)
