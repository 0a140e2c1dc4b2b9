"""The memory for large bodies: bounded, reserved in order, given back, refused after a timeout."""

import asyncio
import threading

import pytest

from fanion.errors import Unavailable
from fanion.wire.offload import DECODING_THREADS, Decoding, Room, room_for

MB = 1024 * 1024


async def test_work_is_done_in_few_threads_of_its_own() -> None:
    decoding = Decoding()
    names: set[str] = set()

    async def work() -> None:
        async with decoding.room(1, 1) as room:
            names.add(await room.run(lambda: threading.current_thread().name))

    await asyncio.gather(*(work() for _ in range(8)))

    assert threading.current_thread().name not in names
    assert all(name.startswith("decoding") for name in names)
    assert len(names) <= DECODING_THREADS


async def test_room_is_given_in_order_and_never_beyond_the_budget() -> None:
    decoding = Decoding(2 * room_for(MB))
    order: list[int] = []
    most = 0

    async def work(number: int, size: int) -> None:
        nonlocal most
        async with decoding.room(size, size) as room:
            order.append(number)
            most = max(most, decoding.taken)
            await room.run(lambda: None)

    await asyncio.gather(*(work(number, MB if number % 3 else 2 * MB) for number in range(9)))

    assert order == list(range(9))
    assert most <= decoding.bytes_max
    assert decoding.taken == 0


async def test_a_body_that_decompresses_to_less_gives_room_back() -> None:
    decoding = Decoding(room_for(20 * MB) + room_for(MB))
    async with decoding.room(1000, 20 * MB) as first:
        assert decoding.taken == room_for(20 * MB)
        first.shrink(MB)
        assert decoding.taken == room_for(MB)
        async with decoding.room(1000, 19 * MB):
            await first.grow(1)

    assert decoding.taken == 0


async def test_a_request_that_waits_too_long_is_asked_to_retry() -> None:
    decoding = Decoding(room_for(MB), wait_s=0.001)

    async with decoding.room(MB, MB):
        with pytest.raises(Unavailable) as refused:
            async with decoding.room(1, 1):
                pass
        assert decoding.taken == room_for(MB)

    assert (refused.value.status, refused.value.code) == (503, "too_many_large_requests")
    assert refused.value.headers() == (("retry-after", "5"),)
    async with decoding.room(MB, MB):  # nothing was lost
        pass


async def test_a_body_larger_than_the_budget_has_all_of_it() -> None:
    decoding = Decoding(MB)

    async with decoding.room(50 * MB, 50 * MB) as room:
        await room.grow(MB)
        assert decoding.taken == decoding.bytes_max

    assert decoding.taken == 0


async def test_room_is_reserved_until_cancelled_work_has_ended() -> None:
    decoding = Decoding()
    may_end, entered = threading.Event(), asyncio.Event()

    async def work() -> None:
        async with decoding.room(MB, MB) as room:
            await run(room)

    async def run(room: Room) -> None:
        entered.set()
        await room.run(lambda: may_end.wait(30))

    task = asyncio.create_task(work())
    await entered.wait()
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    assert decoding.taken == room_for(MB)

    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert decoding.taken == 0


async def test_a_cancelled_wait_takes_no_room() -> None:
    decoding = Decoding(room_for(MB))
    async with decoding.room(MB, MB):
        waiting = asyncio.create_task(decoding.reserve(MB))
        behind = asyncio.create_task(decoding.reserve(MB))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    await behind
    assert decoding.taken == MB
