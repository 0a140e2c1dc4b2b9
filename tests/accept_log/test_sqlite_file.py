"""Groups of the accept log as bytes are decoded whole, or not at all."""

from datetime import UTC, datetime

import msgspec
import pytest
import zstandard

from fanion.accept_log.port import Envelope
from fanion.accept_log.sqlite_file import Compressor, decode_group, encode_group, from_microseconds

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

    encoded = encode_group(given)

    assert (encoded.envelopes, from_microseconds(encoded.oldest)) == (count, NOW)
    assert decode_group(Compressor().compress(encoded.rows), historical=historical) == given


def test_large_groups_are_compressed() -> None:
    assert len(Compressor().compress(encode_group(envelopes(1000)).rows)) < 10_000


@pytest.mark.parametrize("count", [1, 1000])
def test_a_damaged_group_is_detected(count: int) -> None:
    content = bytearray(Compressor().compress(encode_group(envelopes(count)).rows))
    content[-10] ^= 0x40

    with pytest.raises((msgspec.DecodeError, zstandard.ZstdError)):
        decode_group(bytes(content), historical=False)
