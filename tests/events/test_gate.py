"""The gate lets some questions run at once, and orders the others."""

import asyncio

import pytest

from fanion.errors import Unavailable
from fanion.events.turns.gate_service import Gate, GateLimits


class Asking:
    """Reads by name, in the order in which the gate admits them.

    The first letter is the project, a second one the user.
    """

    def __init__(self, **limits: float) -> None:
        self.gate = Gate(GateLimits(**limits))  # type: ignore[arg-type]
        self.let_in: list[str] = []
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def ask(self, *names: str) -> None:
        for name in names:
            self.tasks[name] = task = asyncio.create_task(self._enter(name))
            task.add_done_callback(_retrieve_refusal)
            await asyncio.sleep(0)

    async def end(self, name: str) -> None:
        self.gate.leave(*_key(name))
        await self.settle()

    async def settle(self) -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    async def _enter(self, name: str) -> None:
        await self.gate.enter(*_key(name))
        self.let_in.append(name)


def _retrieve_refusal(task: asyncio.Task[None]) -> None:
    """Retrieve the error of a refused question, which asyncio would log when it is collected."""
    if not task.cancelled():
        task.exception()


def _key(name: str) -> tuple[int, int]:
    return ord(name[0]), ord(name[1]) if name[1].isalpha() else 0


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


async def test_users_of_a_project_take_turns() -> None:
    asking = Asking(at_once=1, at_once_of_project=1)

    await asking.ask("ax1", "ax2", "ax3", "ay1", "ay2", "b1")
    for _ in range(5):
        await asking.end(asking.let_in[-1])

    assert asking.let_in == ["ax1", "ax2", "b1", "ay1", "ax3", "ay2"]


async def test_a_user_leaves_room_for_others_in_all_projects_together() -> None:
    asking = Asking(at_once=3, at_once_of_project=3, at_once_of_user=2)

    await asking.ask("ax1", "bx1", "cx1", "cx2", "ay1")

    assert asking.let_in == ["ax1", "bx1", "ay1"]
    await asking.end("ax1")
    assert asking.let_in[3:] == ["cx1"]


async def test_the_queue_has_an_end_for_all_a_project_and_a_user() -> None:
    asking = Asking(at_once=1, at_once_of_project=1, waiting=8)

    await asking.ask("ax0", "ax1", "ax2")
    await refused(asking, "ax3", "has a fourth of the places")
    await asking.ask("ay1", "az1")
    await refused(asking, "aw1", "has half of them")
    await asking.ask("bx1", "by1", "cx1", "cy1")
    await refused(asking, "dx1", "all are taken")

    assert asking.gate.waiting == 8
    await cancel(asking)


async def test_who_waits_is_not_refused_before_the_time_is_over() -> None:
    asking = Asking(at_once=1, at_once_of_project=1, wait_s=0.05)
    await asking.ask("a1")

    await refused(asking, "a2", "has waited")

    assert (asking.gate.running, asking.gate.waiting) == (1, 0)
    await asking.end("a1")
    await asking.ask("a3")
    assert asking.let_in == ["a1", "a3"]


async def refused(asking: Asking, name: str, why: str) -> None:
    with pytest.raises(Unavailable) as error:
        await asking.gate.enter(*_key(name))
    assert dict(error.value.headers())["retry-after"] == "5", why


async def cancel(asking: Asking) -> None:
    for task in asking.tasks.values():
        task.cancel()
    await asyncio.gather(*asking.tasks.values(), return_exceptions=True)
