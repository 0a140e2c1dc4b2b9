"""Which questions are asked at once, and in which order the others wait."""

import asyncio

import pytest

from fanion.errors import Unavailable
from fanion.insights.gate_service import GateLimits, QuestionGate


class Asking:
    """Questions by name, in the order in which they are let in."""

    def __init__(self, **limits: int) -> None:
        self.gate = QuestionGate(GateLimits(**limits))
        self.let_in: list[str] = []
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def ask(self, *names: str) -> None:
        """The first letter is the project."""
        for name in names:
            self.tasks[name] = asyncio.create_task(self._enter(name))
            await asyncio.sleep(0)

    async def end(self, name: str) -> None:
        self.gate.leave(ord(name[0]))
        await self.settle()

    async def settle(self) -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    async def _enter(self, name: str) -> None:
        await self.gate.enter(ord(name[0]))
        self.let_in.append(name)


async def test_the_others_wait_in_order() -> None:
    asking = Asking(at_once=2, at_once_of_project=2)

    await asking.ask("a1", "a2", "a3", "a4")
    assert asking.let_in == ["a1", "a2"]
    await asking.end("a1")
    assert asking.let_in == ["a1", "a2", "a3"]
    await asking.end("a2")
    await asking.end("a3")
    await asking.end("a4")

    assert asking.let_in == ["a1", "a2", "a3", "a4"]
    assert (asking.gate.running, asking.gate.waiting) == (0, 0)


async def test_projects_take_turns() -> None:
    asking = Asking(at_once=1, at_once_of_project=1)

    await asking.ask("a1", "a2", "a3", "a4", "b1", "b2", "c1")
    for _ in range(6):
        await asking.end(asking.let_in[-1])

    assert asking.let_in == ["a1", "a2", "b1", "c1", "a3", "b2", "a4"]


async def test_a_project_leaves_room_for_others() -> None:
    asking = Asking(at_once=3, at_once_of_project=1)

    await asking.ask("a1", "a2", "b1")

    assert asking.let_in == ["a1", "b1"]


async def test_who_does_not_wait_any_more_is_not_let_in() -> None:
    asking = Asking(at_once=1, at_once_of_project=1)
    await asking.ask("a1", "a2", "a3", "b1")

    asking.tasks["a2"].cancel()
    asking.tasks["b1"].cancel()
    await asking.settle()
    await asking.end("a1")

    assert asking.let_in == ["a1", "a3"]
    assert (asking.gate.running, asking.gate.waiting) == (1, 0)


async def test_a_turn_that_comes_as_its_owner_leaves_is_passed_on() -> None:
    asking = Asking(at_once=1, at_once_of_project=1)
    await asking.ask("a1", "a2", "a3")

    asking.gate.leave(ord("a"))
    asking.tasks["a2"].cancel()
    await asking.settle()
    await asking.settle()

    assert asking.let_in == ["a1", "a3"]


async def test_the_queue_has_an_end() -> None:
    asking = Asking(at_once=1, at_once_of_project=1, waiting=4)
    await asking.ask("a1", "a2", "a3", "b1", "c1")

    for project in "ad":
        with pytest.raises(Unavailable) as refused:
            await asking.gate.enter(ord(project))
        assert dict(refused.value.headers())["retry-after"] == "5"

    assert asking.gate.waiting == 4
    for task in asking.tasks.values():
        task.cancel()
    await asyncio.gather(*asking.tasks.values(), return_exceptions=True)
