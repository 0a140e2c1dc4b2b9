"""The floor of the HTTP cases: a bare RSGI handler that reads the body and answers a constant,
in the same Granian, with the same settings as the server's own."""

import asyncio
import signal
import sys

import uvloop
from granian.constants import Interfaces, TaskImpl
from granian.server.embed import Server

from fanion.server.rsgi import Exchange, Scope
from fanion.server.serve import BACKLOG

HEADERS = [("content-type", "application/json")]


async def constant(_: Scope, exchange: Exchange) -> None:
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
