"""The set-up of the interpreter in a process that answers requests."""

import asyncio
import gc
import sys
from importlib import import_module

# How often the interpreter switches threads. With Python's default of 5 ms a finished commit waits
# for the event loop longer than the commit took.
SWITCH_S = 0.0003
# With Python's default thresholds the collector runs every 700 allocations, which is a seventh of
# the time of ingestion. No thread runs while it does: with five times as many objects at a time it
# took up to 60 ms beside an import, in place of 20 to 30, and no less in all. Objects made during
# the start live as long as the process.
COLLECTION_THRESHOLDS = (10_000, 10, 500)


def shorten_switch_interval() -> None:
    sys.setswitchinterval(SWITCH_S)


def enable_garbage_collection() -> None:
    """Collect the garbage of objects made from now on. Existing objects are never looked at again.

    Until this call the collector is off.
    """
    gc.freeze()
    gc.set_threshold(*COLLECTION_THRESHOLDS)
    gc.enable()


async def import_in_thread(module: str) -> None:
    """Import a module in a thread, while the event loop answers requests.

    A later import of it is immediate.
    """
    await asyncio.to_thread(import_module, module)
