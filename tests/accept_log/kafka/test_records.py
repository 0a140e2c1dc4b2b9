"""The records of the accept log in Kafka: their content and their ids."""

import random
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fanion.accept_log.kafka.records import (
    COMPRESSED_BYTES_MIN,
    ForeignRecord,
    decode_record,
    encode_record,
    entry_id,
    next_offset,
    partition_of,
)
from fanion.accept_log.port import Envelope
from tests.support.accept_logs import NOW, envelope
from tests.support.kafka.logs import INSTALLATION

OFFSETS = st.integers(0, 2**40)
PARTITIONS = st.integers(1, 4096)


@pytest.mark.parametrize("size", [0, 1, COMPRESSED_BYTES_MIN - 1, COMPRESSED_BYTES_MIN, 300_000])
@pytest.mark.parametrize("historical", [False, True])
def test_a_record_comes_back_as_it_was(size: int, historical: bool) -> None:
    body = random.Random(size).randbytes(size)
    sent_at = datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    sent = Envelope(2**40, NOW, "2001:db8::1", "Zoë/1 \u2028", sent_at, body, historical)

    record = encode_record(sent, INSTALLATION)

    assert decode_record(record, INSTALLATION, historical=historical) == sent


def test_a_large_body_is_compressed() -> None:
    record = encode_record(envelope(b'{"event":"e"}' * 100_000), INSTALLATION)

    assert len(record) < 5_000


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"{}",
        b"\x01",
        b"\x01\x90",
        b"\x02not compressed",
        b"\x03" + b"x" * 50,
        encode_record(envelope(b"x"), "another installation"),
        encode_record(envelope(b"x"), INSTALLATION)[:-1],
        encode_record(envelope(b"x" * COMPRESSED_BYTES_MIN), INSTALLATION)[:-9],
    ],
)
def test_what_this_installation_has_not_written_is_foreign(value: bytes) -> None:
    with pytest.raises(ForeignRecord):
        decode_record(value, INSTALLATION, historical=False)


def test_a_text_that_utf8_has_not_cannot_be_written() -> None:
    with pytest.raises(UnicodeEncodeError):
        encode_record(replace(envelope(), user_agent="\ud800"), INSTALLATION)


@given(OFFSETS, OFFSETS, PARTITIONS, PARTITIONS, st.booleans(), st.booleans())
def test_ids_are_unique_and_grow_within_a_partition(
    offset: int, other: int, partition: int, another: int, lane: bool, second: bool
) -> None:
    one = entry_id(offset, partition, historical=lane)
    two = entry_id(other, another, historical=second)

    assert (one == two) == ((offset, partition, lane) == (other, another, second))
    assert (entry_id(other, partition, historical=lane) > one) == (other > offset)
    assert partition_of(one) == partition
    assert one > 0


@given(OFFSETS, PARTITIONS, st.booleans(), st.integers(-3, 2**14))
def test_reading_goes_on_with_the_first_record_behind_an_id(
    offset: int, partition: int, historical: bool, shift: int
) -> None:
    after = max(0, entry_id(offset, partition, historical=historical) + shift)

    found = next_offset(after, partition, historical=historical)

    assert entry_id(found, partition, historical=historical) > after
    assert not found or entry_id(found - 1, partition, historical=historical) <= after
