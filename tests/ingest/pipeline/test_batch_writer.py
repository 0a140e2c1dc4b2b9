"""Batches are written to the event store in order, few at a time, and none after a failure."""

import asyncio
from typing import cast

import pytest

from fanion.events.event import EventRejected
from fanion.events.storage.encoder import Batch, Block
from fanion.events.storage.store import EventStore
from fanion.ingest.pipeline.events_writer import insertion


class SlowEventStore:
    """An event store that stores a batch when it is allowed to, and refuses `bad`."""

    def __init__(self, bad: bytes | None = None) -> None:
        self.bad = bad
        self.begun: list[tuple[bytes, str]] = []
        self.let = asyncio.Semaphore(0)

    async def insert(self, batch: Batch, token: str) -> None:
        self.begun.append((batch.events[0].data, token))
        await self.let.acquire()
        if batch.events[0].data == self.bad:
            raise EventRejected("bad")


def batches(*names: bytes) -> list[Batch]:
    return [Batch((Block((), name),)) for name in names]


async def test_batches_are_stored_in_order_under_tokens_that_a_repetition_has_too() -> None:
    store = SlowEventStore()
    for _ in range(4):
        store.let.release()

    for _ in range(2):
        async with insertion(cast(EventStore, store), "run", lambda: None) as inserting:
            for batch in batches(b"a", b"b"):
                await inserting.put(batch)
            await inserting.stored()

    assert store.begun == [(b"a", "run-0"), (b"b", "run-1")] * 2


async def test_no_more_than_one_batch_waits_for_the_one_that_is_being_stored() -> None:
    store = SlowEventStore()
    async with insertion(cast(EventStore, store), "run", lambda: None) as inserting:
        first, second, third = batches(b"a", b"b", b"c")
        await inserting.put(first)
        await inserting.put(second)
        putting = asyncio.create_task(inserting.put(third))
        done, _ = await asyncio.wait({putting}, timeout=0.05)
        assert not done
        assert [name for name, _ in store.begun] == [b"a"]

        store.let.release()
        await putting
        store.let.release()
        store.let.release()
        await inserting.stored()

    assert [name for name, _ in store.begun] == [b"a", b"b", b"c"]


async def test_nothing_is_stored_after_what_was_refused() -> None:
    store = SlowEventStore(bad=b"a")
    store.let.release()

    with pytest.raises(EventRejected, match="bad"):
        async with insertion(cast(EventStore, store), "run", lambda: None) as inserting:
            for batch in batches(b"a", b"b", b"c"):
                await inserting.put(batch)
            await inserting.stored()

    assert [name for name, _ in store.begun] == [b"a"]


async def test_a_body_that_fails_lets_no_other_batch_begin() -> None:
    store = SlowEventStore()

    with pytest.raises(ZeroDivisionError):
        async with insertion(cast(EventStore, store), "run", lambda: None) as inserting:
            for batch in batches(b"a", b"b"):
                await inserting.put(batch)
            await asyncio.sleep(0)
            raise ZeroDivisionError

    assert [name for name, _ in store.begun] == [b"a"]
