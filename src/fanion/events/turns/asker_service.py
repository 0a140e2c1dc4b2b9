"""The person for whom a request reads, and whether they still wait for the answer."""

from asyncio import Future
from collections.abc import Callable
from contextvars import Context, ContextVar, Token, copy_context
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Asker:
    """left: is done when the client has disconnected; None where nothing ends with the client"""

    user_id: int
    left: "Callable[[], Future[None]] | None" = None


_asker: ContextVar[Asker | None] = ContextVar("asker", default=None)


def current_asker() -> Asker | None:
    """None in background work, for which no client waits."""
    return _asker.get()


def set_asker(asker: Asker | None) -> Token[Asker | None]:
    return _asker.set(asker)


def reset_asker(token: Token[Asker | None]) -> None:
    _asker.reset(token)


def shared_context() -> Context:
    """For a task that others may wait for too: it does not end with the client of the first."""
    context, asker = copy_context(), _asker.get()
    if asker is not None:
        context.run(_asker.set, replace(asker, left=None))
    return context
