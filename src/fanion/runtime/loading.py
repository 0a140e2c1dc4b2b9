"""Loading parts of the server while it serves already."""

import asyncio
from importlib import import_module


async def loaded(module: str) -> None:
    """Beside the event loop, which answers requests meanwhile. A later import finds it there."""
    await asyncio.to_thread(import_module, module)
