"""How the interpreter of a process that answers requests is set up."""

import asyncio
import gc
import sys
from importlib import import_module

# How often the interpreter switches threads: with Python's default of 5 ms a finished commit waits
# for the event loop longer than it took.
SWITCH_S = 0.0003
# With Python's default thresholds the collector runs every 700 allocations, a seventh of the time
# of ingestion; objects made during the start live as long as the process.
COLLECTION_THRESHOLDS = (50_000, 20, 50)


def shorten_switch_interval() -> None:
    sys.setswitchinterval(SWITCH_S)


def enable_garbage_collection() -> None:
    """Of objects made from now on; until then the collector is off, and what exists is frozen."""
    gc.freeze()
    gc.set_threshold(*COLLECTION_THRESHOLDS)
    gc.enable()


async def import_in_thread(module: str) -> None:
    """In a thread, while the event loop answers requests. A later import of it is immediate."""
    await asyncio.to_thread(import_module, module)
