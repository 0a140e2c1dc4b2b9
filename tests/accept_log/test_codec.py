"""Groups of the accept log as bytes: they come back whole, or not at all."""

from datetime import UTC, datetime

import msgspec
import pytest
import zstandard

from fanion.accept_log.codec import Packer, arrival, group, unpack
from fanion.accept_log.port import Envelope

NOW = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)


def envelopes(count: int, *, historical: bool = False) -> list[Envelope]:
    return [
        Envelope(n, NOW, "203.0.113.7", "python/1", NOW, b'{"n":%d}' % n, historical)
        for n in range(count)
    ]


@pytest.mark.parametrize("historical", [False, True])
@pytest.mark.parametrize("count", [1, 50, 1000])
def test_a_group_comes_back_as_it_was(count: int, historical: bool) -> None:
    given = envelopes(count, historical=historical)

    packed = group(given)

    assert (packed.envelopes, arrival(packed.oldest)) == (count, NOW)
    assert unpack(Packer().pack(packed.rows), historical=historical) == given


def test_large_groups_are_compressed() -> None:
    assert len(Packer().pack(group(envelopes(1000)).rows)) < 10_000


@pytest.mark.parametrize("count", [1, 1000])
def test_a_damaged_group_is_told_from_a_sound_one(count: int) -> None:
    content = bytearray(Packer().pack(group(envelopes(count)).rows))
    content[-10] ^= 0x40

    with pytest.raises((msgspec.DecodeError, zstandard.ZstdError)):
        unpack(bytes(content), historical=False)
