"""Fronts beside a server: processes that answer capture and flags too, on cores of their own."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import msgspec

from fanion.app.parts import shared
from fanion.app.services import PublicParts
from fanion.config import Settings
from fanion.processes.shared_counters import Board
from fanion.processes.supervisor import Hall
from fanion.server.server import HttpServer


@asynccontextmanager
async def fronts(
    settings: Settings, public: PublicParts, http: HttpServer, stop: asyncio.Event
) -> AsyncGenerator[None]:
    """stop: when it is set the fronts end too"""
    count = settings.answering - 1
    if count < 1:
        yield
        return
    with tempfile.TemporaryFile() as file:
        board = Board.make(file.fileno(), count)
        values = msgspec.to_builtins(settings, enc_hook=str)
        routes = shared(settings, public.capture, public.flags.endpoints)
        hall = Hall(board, count, values, routes, public, http)
        hall.begin()
        ending = asyncio.create_task(_end(hall, stop))
        try:
            yield
        finally:
            stop.set()
            await ending


async def _end(hall: Hall, stop: asyncio.Event) -> None:
    await stop.wait()
    await hall.end()
