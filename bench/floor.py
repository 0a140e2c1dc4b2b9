"""The floor of the HTTP cases: a bare RSGI handler in Granian that answers a constant.

It runs on uvloop and reads the body.
"""

import asyncio
import signal
import sys
from typing import Any

import uvloop
from granian.constants import Interfaces, TaskImpl
from granian.server.embed import Server

from fanion.server.server import BACKLOG

HEADERS = [("content-type", "application/json")]


async def constant(_: Any, exchange: Any) -> None:
    await exchange()
    exchange.response_bytes(200, HEADERS, b'{"status":1}')


async def main(port: int) -> None:
    server = Server(
        constant,
        address="127.0.0.1",
        port=port,
        interface=Interfaces.RSGI,
        task_impl=TaskImpl.asyncio,
        backlog=BACKLOG,
        websockets=False,
        log_enabled=False,
    )
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, server.stop)
    await server.serve()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1])))
