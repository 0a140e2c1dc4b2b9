"""Serves until told to stop: holds the data folder, and asks the records store whether it answers
while what serves is loaded."""

import asyncio
import signal
from collections.abc import Callable

from fanion.config import Settings
from fanion.data_folder import data_folder
from fanion.db.answering import records_answer
from fanion.interpreter import hand_over_often
from fanion.loading import loaded
from fanion.logs import LineWriter, open_logs
from fanion.server.serve import HttpServer, check_port


async def run_server(settings: Settings, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT, then finish what was begun.

    announce: is told the address, and on the first start the keys
    raises:   PortTaken, DataFolderTaken, RecordsUnavailable, EventStoreUnavailable, OSError
    """
    check_port(settings.host, settings.port)
    hand_over_often()
    lines = open_logs(settings.log_level)
    try:
        with data_folder(settings, settings.local_address):
            await _serve(settings, announce, lines)
    finally:
        lines.close()


async def _serve(settings: Settings, announce: Callable[[str], None], lines: LineWriter) -> None:
    answering = asyncio.create_task(records_answer(settings.records_url))
    await loaded("fanion.stages")
    from fanion.stages import Start, run_stages

    stop = _stop_signal()
    http = HttpServer((settings.host, settings.port), stop)
    try:
        await run_stages(Start(settings, announce, lines, stop, http), answering)
    finally:
        stop.set()
        await http.ended()


def _stop_signal() -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop
