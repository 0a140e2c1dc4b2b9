"""Addresses of a host name, asked of the system in threads of their own.

The event loop's own look-up shares its threads with everything else that runs beside requests;
a name server that does not answer would take them all.
"""

import asyncio
import socket
import threading
from collections.abc import Sequence

# Look-ups under way, also those that nobody waits for any more.
LOOKUPS_MAX = 64


class Resolver:
    def __init__(self) -> None:
        self._running = 0

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        """Each once, in the order in which they should be tried. raises: OSError"""
        if self._running >= LOOKUPS_MAX:
            raise OSError("too many names are being looked up")
        loop = asyncio.get_running_loop()
        found: asyncio.Future[Sequence[str]] = loop.create_future()
        self._running += 1

        def settle(answer: Sequence[str] | OSError) -> None:
            self._running -= 1
            if found.done():
                return
            if isinstance(answer, OSError):
                found.set_exception(answer)
            else:
                found.set_result(answer)

        def look_up() -> None:
            answer = _addresses(host, port)
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, answer)

        # A daemon, so that a look-up that hangs does not keep the server from ending.
        threading.Thread(target=look_up, name="webhook-lookup", daemon=True).start()
        return await found


def _addresses(host: str, port: int) -> Sequence[str] | OSError:
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        return error if isinstance(error, OSError) else OSError(str(error))
    return list(dict.fromkeys(str(address[0]) for *_, address in entries))
