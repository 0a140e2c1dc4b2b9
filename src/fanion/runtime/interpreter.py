"""How the interpreter of a process that answers requests is set up."""

import asyncio
import gc
import sys
from importlib import import_module

# How often the interpreter hands over between threads: with Python's own 5 ms a commit that is
# done waits for the event loop longer than it took.
SWITCH_S = 0.0003
# Python's own thresholds look through all young objects every 700 allocations, a seventh of
# the time of ingestion; what the start has made lives as long as the process.
COLLECTION_THRESHOLDS = (50_000, 20, 50)


def shorten_switch_interval() -> None:
    sys.setswitchinterval(SWITCH_S)


def enable_garbage_collection() -> None:
    """From now on, and not of what is there: until then the collector is off."""
    gc.freeze()
    gc.set_threshold(*COLLECTION_THRESHOLDS)
    gc.enable()


async def import_in_thread(module: str) -> None:
    """Beside the event loop, which answers requests meanwhile. A later import finds it there."""
    await asyncio.to_thread(import_module, module)
