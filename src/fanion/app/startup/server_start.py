"""A start of a server: what its stages share."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from fanion.app.services import AppContext
from fanion.config import OtelSettings, Role
from fanion.web.application import Listeners


@dataclass(frozen=True, slots=True)
class ServerStart:
    """The context of a start.

    Attributes:
        announce: Prints the address, and on the first start the keys.
        to_terminal: Whether only the operator reads what is announced.
        stop: Ends the server when set.
        otel: The telemetry to send.
    """

    context: AppContext
    announce: Callable[[str], None]
    to_terminal: bool
    stop: asyncio.Event
    http: Listeners
    otel: OtelSettings

    @property
    def roles(self) -> frozenset[Role]:
        return self.context.settings.roles


async def close_at_stop(stop: asyncio.Event, close: Callable[[], None]) -> None:
    """Close streams when the server stops, since it waits for every request in progress."""
    await stop.wait()
    close()
