"""Work that grows with the number of a project's flags, so that a project of extreme size does
not hold the other projects' requests up."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# Compiling takes 50 to 100 µs a flag, evaluating and writing the answer 2 to 7.
COMPILED_ON_LOOP_MAX = 50
ANSWERED_ON_LOOP_MAX = 1_000
# Rows that are read from the store in one turn of the loop.
READ_ROWS = 500


async def beside(flags: int, on_loop_max: int, work: Callable[[], T]) -> T:
    """Do it at once, or in a thread where it would take more than a few milliseconds.

    There it shares the interpreter with the loop, which gets its turn every `interpreter.SWITCH_S`.
    """
    if flags <= on_loop_max:
        return work()
    return await asyncio.to_thread(work)
