"""The filter of event ids never calls a known id new, and seldom calls a new one known."""

from random import Random
from uuid import UUID

from fanion.ingest.pipeline.bloom_filter import BloomFilter


def ids(seed: int, count: int) -> list[UUID]:
    chance = Random(seed)
    return [UUID(int=chance.getrandbits(128), version=4) for _ in range(count)]


def of_one_moment(seed: int, count: int) -> list[UUID]:
    """Return UUIDs of version 7 that all have the same first half."""
    chance = Random(seed)
    return [
        UUID(int=0x01A1F973_2416_7000_8000_0000_0000_0000 | chance.getrandbits(62))
        for _ in range(count)
    ]


def test_what_was_added_is_always_found() -> None:
    seen = BloomFilter()
    added = ids(1, 2000) + of_one_moment(2, 2000)

    seen.add(added)

    assert seen.find(added) == added


def test_what_is_new_is_seldom_taken_for_known() -> None:
    seen = BloomFilter()
    seen.add(ids(1, 20_000))
    seen.add(of_one_moment(2, 20_000))

    assert len(seen.find(ids(3, 20_000))) < 20
    assert len(seen.find(of_one_moment(4, 20_000))) < 20


def test_a_full_generation_stays_until_the_next_one_is_full() -> None:
    seen = BloomFilter(ids_max=100)
    first, second, third = ids(1, 100), ids(2, 100), ids(3, 100)

    seen.add(first)
    seen.add(second[:50])
    assert seen.find(first) == first

    seen.add(second[50:])
    seen.add(third)
    assert seen.find(third) == third
    assert len(seen.find(first)) < 5


def test_no_ids_are_no_question() -> None:
    seen = BloomFilter()
    seen.add([])

    assert seen.find([]) == []
