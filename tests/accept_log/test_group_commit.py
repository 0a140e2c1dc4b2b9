"""Appends that share commits: how many, and in which order their callers continue."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from fanion.accept_log.group_commit import GROUP_MAX, GroupCommit
from fanion.accept_log.port import Envelope
from tests.support.accept_logs import envelope


@dataclass
class Store:
    """A store that returns ids, for each group after one turn of the loop."""

    sizes: list[int] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    last: int = 0

    async def commit(self, envelopes: Sequence[Envelope]) -> Sequence[int]:
        self.sizes.append(len(envelopes))
        self.calls.append("commit")
        await asyncio.sleep(0)
        self.last += len(envelopes)
        return range(self.last - len(envelopes) + 1, self.last + 1)


@dataclass
class Completion:
    """A completion that calls `then` with the outcome."""

    then: Callable[[int | Exception], None]
    is_left: bool = False

    def done(self) -> bool:
        return self.is_left

    def set_result(self, result: int, /) -> None:
        self.then(result)

    def set_exception(self, exception: Exception, /) -> None:
        self.then(exception)


@pytest.mark.parametrize("clients", [1, 2, 7, 32, 4 * GROUP_MAX])
async def test_half_of_what_is_under_way_is_one_group(clients: int) -> None:
    """While one half of the appends is written, the clients of the other half have work to do.

    Each client sends the next event as soon as the last is durable.
    """
    store = Store()
    log = GroupCommit(store.commit)
    left = 10 * clients
    ended = asyncio.Event()

    def again(_: int | Exception) -> None:
        nonlocal left
        left -= 1
        if left >= clients:
            log.append_for(Completion(again), envelope())
        elif left == 0:
            ended.set()

    for _ in range(clients):
        log.append_for(Completion(again), envelope())
    await ended.wait()

    half = min((clients + 1) // 2, GROUP_MAX)
    assert max(store.sizes) == half
    assert store.sizes[:6] == [half] * 6 or clients % 2
    assert sum(store.sizes) == 10 * clients
    await log.close()


async def test_the_next_group_goes_to_the_store_before_the_last_is_completed() -> None:
    store = Store()
    log = GroupCommit(store.commit)

    for _ in range(4):
        log.append_for(Completion(lambda _: store.calls.append("completed")), envelope())
    await log.append(envelope())

    assert store.calls[:3] == ["commit", "commit", "completed"]
    await log.close()


async def test_an_append_whose_caller_has_gone_is_left_out() -> None:
    store = Store()
    log = GroupCommit(store.commit)
    outcomes: list[int | Exception] = []
    log.append_for(Completion(outcomes.append, is_left=True), envelope())
    log.append_for(Completion(outcomes.append), envelope())

    last = await log.append(envelope())

    assert (last, store.last, outcomes) == (2, 2, [1])
    await log.close()


async def test_all_of_a_group_get_the_reason_why_it_was_not_written() -> None:
    async def fail(_: Sequence[Envelope]) -> Sequence[int]:
        raise OSError("no disk")

    log = GroupCommit(fail)
    outcomes: list[int | Exception] = []
    for _ in range(2):
        log.append_for(Completion(outcomes.append), envelope())
    with pytest.raises(OSError, match="no disk"):
        await log.append(envelope())

    assert [str(error) for error in outcomes] == ["no disk", "no disk"]
    await log.close()
